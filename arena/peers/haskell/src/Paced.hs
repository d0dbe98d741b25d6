-- | net/paced: requests on a fixed schedule, request k by client k mod N. One thread sleeps until
-- requests are due and hands them out.
module Paced (Echo, verified, Schedule (..), paced) where

import Control.Concurrent
import Control.Exception (throwIO)
import Control.Monad
import Data.Array (Array, listArray, (!))
import Data.Array.Unboxed (UArray, accumArray, assocs)
import Data.Bits
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)
import System.Posix.Unistd (nanosleep)

import Cell

-- | A client's end of a pair: the answer to a number.
type Echo = Int -> IO Int

verified :: Echo -> Int -> IO Int
verified echo number = do
  answer <- echo number
  when (answer /= number) $
    throwIO (Bug ("asked " ++ show number ++ ", the answer is " ++ show answer))
  pure answer

-- | From the time it was due, and from just before it was written.
data Latency = Latency {fromDue, fromSent :: !Word64}

data Share = Share !Counts [Latency] !Word64 -- the time of the last reply

paced :: (Int -> IO () -> IO ThreadId) -> [Echo] -> Int -> Int -> IO Schedule
paced fork ends rate secs = do
  begun <- newEmptyMVar
  queues <- replicateM n newChan
  started <- startEach fork [readMVar begun >>= client echo queue | (echo, queue) <- zip ends queues]
  begin <- getMonotonicTimeNSec
  putMVar begun begin
  pacer <- start (handOut begin (listArray (0, n - 1) queues) 0)
  await pacer
  forM_ queues (`writeChan` Nothing)
  shares <- mapM await started
  let seen = concat [latencies | Share _ latencies _ <- shares]
  pure
    Schedule
      { lasted = maximum [end | Share _ _ end <- shares] - begin
      , did = mconcat [counts | Share counts _ _ <- shares]
      , due = histogram (map fromDue seen)
      , service = histogram (map fromSent seen)
      }
  where
    n = length ends
    requests = rate * secs
    dueAt k = fromIntegral (k `quot` rate * second + k `rem` rate * second `quot` rate) :: Word64
    handOut :: Word64 -> Array Int (Chan (Maybe Int)) -> Int -> IO ()
    handOut begin queues = go
      where
        go k = when (k < requests) $ do
          now <- getMonotonicTimeNSec
          let at = begin + dueAt k
          if now >= at
            then writeChan (queues ! (k `rem` n)) (Just k) >> go (k + 1)
            else nanosleep (toInteger (at - now)) >> go k
    client echo queue begin = go mempty [] begin
      where
        go !counts seen !end = do
          next <- readChan queue
          case next of
            Nothing -> pure (Share (counts <> Counts 0 2 0) seen end)
            Just k -> do
              sent <- getMonotonicTimeNSec
              answer <- verified echo k
              now <- getMonotonicTimeNSec
              let !latency = Latency (now - (begin + dueAt k)) (now - sent)
              go (counts <> Counts 2 0 answer) (latency : seen) now

second :: Int
second = 1000000000

-- | 32 buckets for each power of two from 64 on; those that have any, with their counts.
histogram :: [Word64] -> [(Int, Int)]
histogram values = filter ((> 0) . snd) (assocs counts)
  where
    counts = accumArray (+) 0 (0, 58 * 32 + 31) [(bucket value, 1) | value <- values] :: UArray Int Int

bucket :: Word64 -> Int
bucket value = (e - 5) * 32 + fromIntegral (value `unsafeShiftR` (e - 5))
  where
    e = 63 - countLeadingZeros (value .|. 63)
