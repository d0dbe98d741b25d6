{-# LANGUAGE MagicHash #-}
{-# LANGUAGE UnboxedTuples #-}
-- | A number that any thread may add to.
module Tally (Tally, newTally, add) where

import GHC.Exts
import GHC.IO (IO (..))

data Tally = Tally (MutableByteArray# RealWorld)

newTally :: Int -> IO Tally
newTally (I# value) = IO $ \s -> case newByteArray# 8# s of
  (# s', cell #) -> case writeIntArray# cell 0# value s' of
    s'' -> (# s'', Tally cell #)

-- | Adds and gives the sum.
add :: Tally -> Int -> IO Int
add (Tally cell) (I# more) = IO $ \s -> case fetchAddIntArray# cell 0# more s of
  (# s', before #) -> (# s', I# (before +# more) #)
