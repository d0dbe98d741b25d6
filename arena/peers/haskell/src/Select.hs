{-# OPTIONS_GHC -fno-full-laziness #-} -- each Add is made when it is sent, not once
-- | counter/select: two queues, the counter chooses between them by 'orElse'; a send stands in a
-- choice with a timeout of 100 ms. A rendezvous of two transactions cannot be written in STM, so
-- the unbuffered one has a place for one message. All threads run on one capability.
module Select (select, buffered, Timer (..)) where

import Control.Concurrent.STM
import Control.Exception (throwIO)
import Control.Monad (unless)

import Cell hiding (check)
import Counter (produce, step)

data Timer = Timer | NoTimer

-- | A queue by its transactions.
data Ends a = Ends {put :: a -> STM (), get :: STM a}

single :: IO (Ends a)
single = (\place -> Ends (putTMVar place) (takeTMVar place)) <$> newEmptyTMVarIO

room :: IO (Ends a)
room = (\queue -> Ends (writeTBQueue queue) (readTBQueue queue)) <$> newTBQueueIO 1024

select, buffered :: Timer -> Cell
select = selecting single single
buffered = selecting room room

data Add = Add !Int

data Get = Get (TMVar Int) | Stop

selecting :: IO (Ends Add) -> IO (Ends Get) -> Timer -> Cell
selecting newAdd newGet timer args = do
  [p, n] <- sizes [("P", 1000000), ("n", 2 ^ (31 :: Int))] args
  pure . repeated $ do
    adds <- newAdd
    gets <- newGet
    fork <- here
    _ <- fork (counter adds gets 0)
    done <- produce fork p (producer (sendWith timer adds) n)
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

producer :: (Int -> IO ()) -> Int -> IO Counts
producer add n = go 0
  where
    go :: Int -> IO Counts
    go sent
      | sent < n = add step >> go (sent + 1)
      | otherwise = pure (Counts sent 1 0)

-- | The timer is armed only when there is no room at once.
sendWith :: Timer -> Ends Add -> Int -> IO ()
sendWith NoTimer adds more = atomically (put adds (Add more))
sendWith Timer adds more = do
  sent <- atomically ((True <$ put adds (Add more)) `orElse` pure False)
  unless sent $ do
    late <- registerDelay 100000
    inTime <- atomically ((True <$ put adds (Add more)) `orElse` (False <$ (readTVar late >>= check)))
    unless inTime (throwIO (Bug "a timeout of 100 ms fired"))
