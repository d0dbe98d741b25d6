{-# OPTIONS_GHC -fno-full-laziness #-} -- each Add is made when it is sent, not once
-- | counter/select*: two queues, the counter chooses between them by 'orElse'. A rendezvous of two
-- transactions cannot be written in STM, so the unbuffered one has a place for one message. All
-- threads run on one capability.
module Select (select, buffered, selectTimed, bufferedTimed) where

import Control.Concurrent.MVar
import Control.Concurrent.STM hiding (check)
import Control.Exception (throwIO)
import Control.Monad (unless)

import Cell
import Counter (produce, step)

-- | A queue by its transactions.
data Ends a = Ends {put :: a -> STM (), get :: STM a}

single :: IO (Ends a)
single = (\place -> Ends (putTMVar place) (takeTMVar place)) <$> newEmptyTMVarIO

room :: IO (Ends a)
room = (\queue -> Ends (writeTBQueue queue) (readTBQueue queue)) <$> newTBQueueIO 1024

select, buffered, selectTimed, bufferedTimed :: Cell
select = selecting single single untimed
buffered = selecting room room untimed
selectTimed = selecting single single timedInTurn
bufferedTimed = selecting room room timedInTurn

data Add = Add !Int

data Get = Get (TMVar Int) | Stop

-- | A way to send: made once for all producers.
type Sending = IO (STM () -> IO ())

untimed :: Sending
untimed = pure atomically

-- | Each send in a choice with a timeout of 100 ms, which begins before the producer waits for its
-- turn. STM is not fair: it wakes all that wait, and one producer could wait for as long as the
-- others have something to send. An MVar serves those who wait in their order, so it gives turns.
timedInTurn :: Sending
timedInTurn = do
  turn <- newMVar ()
  pure $ \sending -> do
    expired <- registerDelay 100000
    sent <- withMVar turn $ \_ ->
      atomically ((False <$ waitUntil expired) `orElse` (True <$ sending))
    unless sent $ throwIO (Bug "a timeout of 100 ms fired")
  where
    waitUntil flag = readTVar flag >>= (`unless` retry)

selecting :: IO (Ends Add) -> IO (Ends Get) -> Sending -> Cell
selecting newAdd newGet sending args = do
  [p, n] <- sizes [("P", 1000000), ("n", 2 ^ (31 :: Int))] args
  pure . repeated $ do
    adds <- newAdd
    gets <- newGet
    fork <- here
    _ <- fork (counter adds gets 0)
    run <- sending
    done <- produce fork p (producer (run . put adds) n)
    reply <- newEmptyTMVarIO
    atomically (put gets (Get reply))
    total <- atomically (takeTMVar reply)
    atomically (put gets Stop)
    pure (done <> Counts 0 1 total)

-- | Additions come first in the choice, so none that was sent before a question is left behind.
counter :: Ends Add -> Ends Get -> Int -> IO ()
counter adds gets = go
  where
    go !total = do
      event <- atomically ((Left <$> get adds) `orElse` (Right <$> get gets))
      case event of
        Left (Add more) -> go (total + more)
        Right (Get reply) -> atomically (putTMVar reply total) >> go 0
        Right Stop -> pure ()

producer :: (Add -> IO ()) -> Int -> IO Counts
producer add n = go 0
  where
    go :: Int -> IO Counts
    go sent
      | sent < n = add (Add step) >> go (sent + 1)
      | otherwise = pure (Counts sent 1 0)
