-- | chain: the root makes child 1, child i makes child i+1, a Ping goes down and a Pong back up.
-- One of them runs at a time, so all stay on one capability.
module Chain (chain) where

import Control.Concurrent

import Cell
import Queue

-- | A Ping has the number of its receiver (the root is 0), a Pong the depth below its sender, it
-- included.
data Message = Ping !Int | Pong !Int

chain :: forall q. Queue q => Cell
chain args = do
  [actors] <- sizes [("A", 1000000)] args
  pure (repeated (counts <$> run @q actors))
{-# INLINE chain #-}

-- | From the depth that came back: one Ping and one Pong for each child that answered, the driver's
-- Ping and the last child's Pong to itself.
counts :: Int -> Counts
counts depth = Counts (2 * depth + 2) (depth + 1) depth

run :: forall q. Queue q => Int -> IO Int
run actors = do
  done <- newEmptyMVar
  root <- newQueue @q
  fork <- here
  _ <- fork (rooted fork root done)
  send root (Ping 0)
  takeMVar done
  where
    rooted fork self done = do
      message <- receive self
      case message of
        Ping number -> child fork self number >> rooted fork self done
        Pong depth -> putMVar done depth
    child fork parent number = do
      self <- newQueue
      _ <- fork (node fork self parent)
      send self (Ping (number + 1))
    node :: (IO () -> IO ThreadId) -> q Message -> q Message -> IO ()
    node fork self parent = do
      message <- receive self
      case message of
        Ping number
          | number < actors -> child fork self number >> node fork self parent
          | otherwise -> send self (Pong 0) >> node fork self parent
        Pong depth -> send parent (Pong (depth + 1))
{-# INLINE run #-}
