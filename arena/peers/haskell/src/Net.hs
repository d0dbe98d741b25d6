-- | net/local: N clients make M requests each to servers of their own, with a fresh MVar for each
-- answer; each answer is compared. A client and its server run on one capability.
module Net (local) where

import Control.Concurrent
import Control.Exception (throwIO)

import Cell
import Queue

data Request = Request !Int {-# UNPACK #-} !(MVar Int) | Reset | Stop

local :: forall q. Queue q => Cell
local args = do
  [n, m] <- sizes [("N", 500000), ("M", 2 ^ (31 :: Int))] args
  pure . repeatedParts $ do
    gate <- newEmptyMVar
    begun <- mapM (begin m gate) [1 .. n]
    mapM_ (takeMVar . fst) begun
    timed (putMVar gate () >> awaitAll (concatMap snd begun))
  where
    begin :: Int -> MVar () -> Int -> IO (MVar (), [Started Counts])
    begin m gate k = do
      requests <- newQueue @q
      ready <- newEmptyMVar
      server <- startWith (forkOn k) (serve requests 0)
      client <- startWith (forkOn k) $ do
        _ <- ask requests 0
        send requests Reset
        putMVar ready ()
        readMVar gate
        asked <- calls requests m 0 0
        send requests Stop
        pure asked
      pure (ready, [server, client])
{-# INLINE local #-}

serve :: Queue q => q Request -> Int -> IO Counts
serve requests = go
  where
    go :: Int -> IO Counts
    go !sent = do
      request <- receive requests
      case request of
        Request number reply -> putMVar reply number >> go (sent + 1)
        Reset -> go 0
        Stop -> pure (Counts sent 1 0)
{-# INLINE serve #-}

calls :: Queue q => q Request -> Int -> Int -> Int -> IO Counts
calls requests m = go
  where
    go :: Int -> Int -> IO Counts
    go !number !total
      | number < m = ask requests number >>= go (number + 1) . (total +)
      | otherwise = pure (Counts number 1 total)
{-# INLINE calls #-}

ask :: Queue q => q Request -> Int -> IO Int
ask requests number = do
  reply <- newEmptyMVar
  send requests (Request number reply)
  answer <- takeMVar reply
  if answer == number
    then pure answer
    else throwIO (Bug ("asked " ++ show number ++ ", the answer is " ++ show answer))
{-# INLINE ask #-}
