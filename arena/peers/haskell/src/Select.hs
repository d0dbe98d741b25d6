{-# OPTIONS_GHC -fno-full-laziness #-} -- each Add is made when it is sent, not once
-- | counter/select-*-no-timer: two queues, the counter chooses between them by 'orElse'. A
-- rendezvous of two transactions cannot be written in STM, so the unbuffered one has a place for
-- one message. All threads run on one capability. There is no variant with a timeout: see README.
module Select (select, buffered) where

import Control.Concurrent.STM

import Cell
import Counter (produce, step)

-- | A queue by its transactions.
data Ends a = Ends {put :: a -> STM (), get :: STM a}

single :: IO (Ends a)
single = (\place -> Ends (putTMVar place) (takeTMVar place)) <$> newEmptyTMVarIO

room :: IO (Ends a)
room = (\queue -> Ends (writeTBQueue queue) (readTBQueue queue)) <$> newTBQueueIO 1024

select, buffered :: Cell
select = selecting single single
buffered = selecting room room

data Add = Add !Int

data Get = Get (TMVar Int) | Stop

selecting :: IO (Ends Add) -> IO (Ends Get) -> Cell
selecting newAdd newGet args = do
  [p, n] <- sizes [("P", 1000000), ("n", 2 ^ (31 :: Int))] args
  pure . repeated $ do
    adds <- newAdd
    gets <- newGet
    fork <- here
    _ <- fork (counter adds gets 0)
    done <- produce fork p (producer adds n)
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

producer :: Ends Add -> Int -> IO Counts
producer adds n = go 0
  where
    go :: Int -> IO Counts
    go sent
      | sent < n = atomically (put adds (Add step)) >> go (sent + 1)
      | otherwise = pure (Counts sent 1 0)
