-- | What a cell is: its sizes are checked and everything that is not timed is made in prep, which
-- gives a function from @inner@ to the time and the counts of that many repetitions.
module Cell
  ( Args, Cell, Counts (..), Failure (..), Sample, Prepared (..), Schedule (..), Started
  , alone, sizes, repeated, repeatedParts, timed, times, start, startWith, startEach, here, await, awaitAll
  ) where

import Control.Concurrent
import Control.Exception
import Control.Monad (zipWithM)
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)
import Text.Read (readMaybe)

import Json (Value)

-- | The keys and values of a command.
type Args = [(String, String)]

type Sample = Int -> IO (Word64, Counts)

type Cell = Args -> IO Sample

-- | What prep leaves: the sample, what its answer tells, requests on a schedule of so many a second
-- for so many seconds where a cell can, and how to close it all.
data Prepared = Prepared
  { sample :: Sample
  , told :: [(String, Value)]
  , schedule :: Maybe (Int -> Int -> IO Schedule)
  , finish :: IO ()
  }

-- | A sample with nothing to tell and nothing to close.
alone :: Sample -> Prepared
alone only = Prepared {sample = only, told = [], schedule = Nothing, finish = pure ()}

-- | How a schedule went, with the histograms of the latencies from when requests were due and from
-- when they were sent.
data Schedule = Schedule
  { lasted :: !Word64
  , did :: !Counts
  , due, service :: [(Int, Int)]
  }

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
    size (key, most) = case (lookup key args, lookup key args >>= readMaybe) of
      (Nothing, _) -> throwIO (Limit (key ++ " was not sent"))
      (_, Just v) | v >= 1 && v <= toInteger most -> pure (fromInteger v)
      (Just text, _) -> throwIO (Limit (key ++ "=" ++ text ++ ": this peer takes 1 to " ++ show most))

-- | A scenario that has no part outside the timed region.
repeated :: IO Counts -> Sample
repeated scenario inner = timed (times inner scenario)

-- | A scenario that says itself how long its timed part took.
repeatedParts :: IO (Word64, Counts) -> Sample
repeatedParts once = go (0, mempty)
  where
    go total 0 = pure total
    go (!ns, !counts) left = do
      (more, counted) <- once
      go (ns + more, counts <> counted) (left - 1)
{-# INLINE repeatedParts #-}

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

-- | One thread for each action; the way to fork is told its number.
startEach :: (Int -> IO () -> IO ThreadId) -> [IO a] -> IO [Started a]
startEach fork = zipWithM (startWith . fork) [0 ..]

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
