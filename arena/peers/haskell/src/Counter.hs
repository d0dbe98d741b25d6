{-# OPTIONS_GHC -fno-full-laziness #-} -- each Add is made when it is sent, not once
-- | counter: P producers send n additions each to one thread.
module Counter (plain, inTurns, askEach, threads, mutex, produce, step) where

import Control.Concurrent

import Cell
import Queue

data Message = Add !Int | GetAndReset {-# UNPACK #-} !(MVar Int) | Stop

step :: Int
step = 100

withSizes :: (Int -> Int -> IO Counts) -> Cell
withSizes scenario args = do
  [p, n] <- sizes [("P", 1000000), ("n", 2 ^ (31 :: Int))] args
  pure (repeated (scenario p n))

-- | Starts the producers and adds what each did when it has ended.
produce :: (IO () -> IO ThreadId) -> Int -> IO Counts -> IO Counts
produce fork p producer = mapM (const (startWith fork producer)) [1 .. p] >>= awaitAll

counter :: Queue q => q Message -> IO ()
counter inbox = go 0
  where
    go !total = do
      message <- receive inbox
      case message of
        Add more -> go (total + more)
        GetAndReset reply -> putMVar reply total >> go 0
        Stop -> pure ()
{-# INLINE counter #-}

ask :: Queue q => q Message -> IO Int
ask inbox = do
  reply <- newEmptyMVar
  send inbox (GetAndReset reply)
  takeMVar reply
{-# INLINE ask #-}

additions :: Queue q => q Message -> Int -> IO Int
additions inbox n = go 0
  where
    go :: Int -> IO Int
    go sent
      | sent < n = send inbox (Add step) >> go (sent + 1)
      | otherwise = pure sent
{-# INLINE additions #-}

-- | One question after all producers have ended.
once :: forall q. Queue q => (IO () -> IO ThreadId) -> (IO () -> IO ThreadId) -> Int -> Int -> IO Counts
once forkCounter fork p n = do
  inbox <- newQueue @q
  _ <- forkCounter (counter inbox)
  sent <- produce fork p ((\count -> Counts count 1 0) <$> additions inbox n)
  total <- ask inbox
  send inbox Stop
  pure (sent <> Counts 0 1 total)
{-# INLINE once #-}

plain :: forall q. Queue q => Cell
plain = withSizes (once @q forkIO forkIO)
{-# INLINE plain #-}

-- | The same, all on one capability: for queues on which a producer often waits.
inTurns :: forall q. Queue q => Cell
inTurns = withSizes $ \p n -> do
  fork <- here
  once @q fork fork p n
{-# INLINE inTurns #-}

-- | The producers are OS threads.
threads :: forall q. Queue q => Cell
threads = withSizes (once @q forkIO forkOS)
{-# INLINE threads #-}

-- | Every producer asks for itself, the answers are added.
askEach :: forall q. Queue q => Cell
askEach = withSizes $ \p n -> do
  inbox <- newQueue @q
  _ <- forkIO (counter inbox)
  done <- produce forkIO p $ do
    sent <- additions inbox n
    Counts sent 1 <$> ask inbox
  send inbox Stop
  pure (done <> Counts 0 1 0)
{-# INLINE askEach #-}

-- | No messages: a lock, which in Haskell is an MVar that holds the sum.
mutex :: Cell
mutex = withSizes $ \p n -> do
  shared <- newMVar 0
  let go :: Int -> IO Int
      go sent
        | sent < n = do
            modifyMVar_ shared (\total -> pure $! total + step)
            go (sent + 1)
        | otherwise = pure sent
  sent <- produce forkIO p ((\count -> Counts count 1 0) <$> go 0)
  total <- takeMVar shared
  pure (sent <> Counts 0 1 total)
