-- | spawn: n threads, each adds one.
module Spawn (detached, joined) where

import Control.Concurrent
import Control.Monad (replicateM_, when)

import Cell
import Tally

-- | Nobody joins; the thread that brings the tally to n says so.
detached :: Cell
detached args = do
  [n] <- sizes [("n", 10000000)] args
  pure . repeated $ do
    tally <- newTally 0
    done <- newEmptyMVar
    _ <- forkIO . replicateM_ n . forkIO $ do
      count <- add tally 1
      when (count == n) (putMVar done count)
    ran <- takeMVar done
    pure (Counts ran ran ran)

-- | Start one, await its result, n times.
joined :: Cell
joined args = do
  [n] <- sizes [("n", 2 ^ (31 :: Int))] args
  pure . repeated $ do
    let go started !total
          | started < n = do
              result <- newEmptyMVar
              _ <- forkIO (putMVar result 1)
              more <- takeMVar result
              go (started + 1) (total + more)
          | otherwise = pure (Counts total started total)
    go 0 0
