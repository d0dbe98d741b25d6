-- | What a cell is: its sizes are checked and everything that is not timed is made in prep, which
-- gives a function from @inner@ to the time and the counts of that many repetitions.
module Cell
  ( Args, Cell, Counts (..), Failure (..), Sample, Started
  , sizes, repeated, timed, times, start, startWith, here, await, awaitAll
  ) where

import Control.Concurrent
import Control.Exception
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)

-- | The keys and values of a prep command; a value that is no 64-bit number is Nothing.
type Args = [(String, Maybe Int)]

type Sample = Int -> IO (Word64, Counts)

type Cell = Args -> IO Sample

data Counts = Counts {msgs, units, check :: !Int}
  deriving (Eq, Show)

instance Semigroup Counts where
  Counts m u c <> Counts m' u' c' = Counts (m + m') (u + u') (c + c')

instance Monoid Counts where
  mempty = Counts 0 0 0

-- | What is answered by err lines.
data Failure = Limit String | Unsupported String | Bug String
  deriving (Show)

instance Exception Failure

-- | The values of some sizes, in order; each must be there, at least 1 and at most its bound.
sizes :: [(String, Int)] -> Args -> IO [Int]
sizes bounds args = mapM size bounds
  where
    size (key, most) = case lookup key args of
      Just (Just v) | v >= 1 && v <= most -> pure v
      Nothing -> throwIO (Limit (key ++ " was not sent"))
      Just v -> throwIO (Limit (key ++ "=" ++ maybe "?" show v ++ ": this peer takes 1 to " ++ show most))

-- | A scenario that has no part outside the timed region.
repeated :: IO Counts -> Sample
repeated scenario inner = timed (times inner scenario)

-- | The sum of so many runs.
times :: Monoid a => Int -> IO a -> IO a
times inner action = go inner mempty
  where
    go 0 sum' = pure sum'
    go left sum' = do
      more <- action
      let next = sum' <> more
      next `seq` go (left - 1) next
{-# INLINE times #-}

timed :: IO a -> IO (Word64, a)
timed action = do
  begin <- getMonotonicTimeNSec
  result <- action
  end <- getMonotonicTimeNSec
  pure (end - begin, result)

-- | A thread whose result, or exception, somebody awaits.
newtype Started a = Started (MVar (Either SomeException a))

start :: IO a -> IO (Started a)
start = startWith forkIO

-- | With another way to fork.
startWith :: (IO () -> IO ThreadId) -> IO a -> IO (Started a)
startWith fork action = do
  result <- newEmptyMVar
  _ <- fork (try action >>= putMVar result)
  pure (Started result)

-- | A way to fork that keeps the new threads on the capability of the caller: for threads that run
-- by turns, where waking a thread of another capability would be most of the work.
here :: IO (IO () -> IO ThreadId)
here = do
  (capability, _) <- myThreadId >>= threadCapability
  pure (forkOn capability)

await :: Started a -> IO a
await (Started result) = takeMVar result >>= either throwIO pure

awaitAll :: Monoid a => [Started a] -> IO a
awaitAll = fmap mconcat . mapM await
