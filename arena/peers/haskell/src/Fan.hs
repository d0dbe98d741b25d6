-- | fan: a parent sends N Pings at once, its child answers each. Both count the messages they take
-- and run on one capability.
module Fan (fan) where

import Control.Concurrent (ThreadId)

import Cell
import Queue

data Message = Start | Ping !Int | Pong !Int | Stop

fan :: forall q. Queue q => Cell
fan args = do
  [n] <- sizes [("N", 20000000)] args
  pure . repeated $ do
    parent <- newQueue @q
    fork <- here
    started <- startWith fork (parentOf fork n parent)
    send parent Start
    await started
{-# INLINE fan #-}

parentOf :: forall q. Queue q => (IO () -> IO ThreadId) -> Int -> q Message -> IO Counts
parentOf fork n self = receive self >>= begin
  where
    begin Start = do
      child <- newQueue @q
      started <- startWith fork (childOf n child self 0)
      pings child 0
      mine <- answers 1 0
      theirs <- await started
      pure (mine <> theirs)
    begin _ = fail "no Start"
    pings child index
      | index < n = send child (Ping index) >> pings child (index + 1)
      | otherwise = pure ()
    answers :: Int -> Int -> IO Counts
    answers !taken !total = do
      message <- receive self
      case message of
        Pong index
          | index == n - 1 -> send self Stop >> answers (taken + 1) (total + index)
          | otherwise -> answers (taken + 1) (total + index)
        _ -> pure (Counts (taken + 1) 1 total)
{-# INLINE parentOf #-}

childOf :: Queue q => Int -> q Message -> q Message -> Int -> IO Counts
childOf n self parent = go
  where
    go !taken = do
      message <- receive self
      case message of
        Ping index -> do
          send parent (Pong index)
          if index == n - 1 then send self Stop >> go (taken + 1) else go (taken + 1)
        _ -> pure (Counts (taken + 1) 1 0)
{-# INLINE childOf #-}
