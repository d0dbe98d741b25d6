-- | skynet: a tree with S leaves, ten children a node, every node a thread.
module Skynet (tree, alive, tasks, plain, parallel) where

import Control.Concurrent
import Control.Exception (evaluate, throwIO)
import Control.Monad (forM_)
import Control.Parallel.Strategies (parMap, rpar)
import Data.IORef

import Cell
import Queue
import Tally

children :: Int
children = 10

leavesOf :: Args -> IO Int
leavesOf args = do
  [leaves] <- sizes [("S", 1000000)] args
  if isPower leaves then pure leaves else throwIO (Limit "S must be a power of 10")
  where
    isPower s = s == 1 || s `rem` children == 0 && isPower (s `quot` children)

-- | An untimed pass counts the threads; in the timed ones nobody counts.
counted :: (IO () -> Int -> IO Int) -> Cell
counted scenario args = do
  leaves <- leavesOf args
  born <- newTally 0
  _ <- scenario (() <$ add born 1) leaves
  nodes <- add born 0
  pure (repeated (Counts nodes nodes <$> scenario (pure ()) leaves))

-- | A node waits on a queue of its own.
tree :: forall q. Queue q => Cell
tree = counted $ \born leaves -> do
  let node :: q Int -> Int -> Int -> IO ()
      node parent number 1 = born >> send parent number
      node parent number size = do
        born
        replies <- newQueue
        let part = size `quot` children
        forM_ [0 .. children - 1] $ \i -> forkIO (node replies (number + i * part) part)
        gather children replies 0 >>= send parent
  result <- newQueue @q
  _ <- forkIO (node result 0 leaves)
  receive result
{-# INLINE tree #-}

gather :: Queue q => Int -> q Int -> Int -> IO Int
gather left replies = go left
  where
    go :: Int -> Int -> IO Int
    go 0 !total = pure total
    go k !total = receive replies >>= go (k - 1) . (total +)
{-# INLINE gather #-}

-- | As 'tree', but a leaf answers only when all leaves exist: the last one opens the gate.
alive :: forall q. Queue q => Cell
alive = counted $ \born leaves -> do
  missing <- newTally leaves
  gate <- newEmptyMVar
  let node :: q Int -> Int -> Int -> IO ()
      node parent number 1 = do
        born
        left <- add missing (-1)
        if left == 0 then putMVar gate () else readMVar gate
        send parent number
      node parent number size = do
        born
        replies <- newQueue
        let part = size `quot` children
        forM_ [0 .. children - 1] $ \i -> forkIO (node replies (number + i * part) part)
        gather children replies 0 >>= send parent
  result <- newQueue @q
  _ <- forkIO (node result 0 leaves)
  receive result
{-# INLINE alive #-}

-- | A parent awaits the result of each child in an MVar of the child's own.
tasks :: Cell
tasks = counted $ \born leaves -> do
  let node :: MVar Int -> Int -> Int -> IO ()
      node result number 1 = born >> putMVar result number
      node result number size = do
        born
        let part = size `quot` children
            child i = do
              theirs <- newEmptyMVar
              theirs <$ forkIO (node theirs (number + i * part) part)
        results <- mapM child [0 .. children - 1]
        total <- sumOf results 0
        putMVar result total
      sumOf :: [MVar Int] -> Int -> IO Int
      sumOf [] !total = pure total
      sumOf (first : rest) !total = takeMVar first >>= sumOf rest . (total +)
  result <- newEmptyMVar
  _ <- forkIO (node result 0 leaves)
  takeMVar result

-- | Recursion, no threads.
plain :: Cell
plain = pureCell (const 0) $ \leaves -> floor' 0 leaves
  where
    floor' :: Int -> Int -> Int
    floor' number 1 = number
    floor' number size = go 0 0
      where
        part = size `quot` children
        go :: Int -> Int -> Int
        go i !total
          | i < children = go (i + 1) (total + floor' (number + i * part) part)
          | otherwise = total

-- | Sparks instead of threads, and no messages; its units are the sparks, one for each node but
-- the root.
parallel :: Cell
parallel = pureCell (subtract 1) $ \leaves -> node leaves 0
  where
    node :: Int -> Int -> Int
    node 1 number = number
    node size number = sum (parMap rpar (\i -> node part (number + i * part)) [0 .. children - 1])
      where
        part = size `quot` children

-- | The size is read anew in every repetition: a result that depends on nothing else would be
-- computed once and kept.
pureCell :: (Int -> Int) -> (Int -> Int) -> Cell
pureCell unitsOf compute args = do
  leaves <- leavesOf args
  let nodes = (children * leaves - 1) `quot` (children - 1)
  size <- newIORef leaves
  pure (repeated (readIORef size >>= fmap (Counts nodes (unitsOf nodes)) . evaluate . compute))
