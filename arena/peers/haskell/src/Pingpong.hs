-- | pingpong: p pairs, n round trips each, w requests in flight. Both threads of a pair run on one
-- capability ('forkOn'), the pairs in turn on all of them.
module Pingpong (tell, fixed, call, choice) where

import Control.Concurrent
import Control.Concurrent.STM

import Cell
import Queue

-- | A request carries its number and the queue for the answer.
data Request q = Ping !Int !(q Int) | Stop

-- | From n and w the server and the client of a pair; each gives what it did.
type Pair = Int -> Int -> IO (IO Counts, IO Counts)

pairs :: Int -> Pair -> Cell
pairs window pair args = do
  [p, n, w] <- sizes [("p", 500000), ("n", 2 ^ (31 :: Int)), ("w", 1000000)] (args ++ [("w", show window)])
  let begin k = do
        (server, client) <- pair n w
        mapM (startWith (forkOn k)) [server, client]
  pure (repeated (mapM begin [1 .. p] >>= awaitAll . concat))

-- | One queue into each side, the request carries the one for the answer.
tell :: forall q. Queue q => Int -> Cell
tell window = pairs window $ \n w -> do
  requests <- newQueue @q
  replies <- newQueue
  let client = open 0
        where
          opened = min n w
          open sent
            | sent < opened = send requests (Ping sent replies) >> open (sent + 1)
            | otherwise = refill sent 0
          refill !sent !total
            | sent < n = do
                number <- receive replies
                send requests (Ping sent replies)
                refill (sent + 1) (total + number)
            | otherwise = drain sent opened total
          drain :: Int -> Int -> Int -> IO Counts
          drain !sent !left !total
            | left > 0 = receive replies >>= drain sent (left - 1) . (total +)
            | otherwise = send requests Stop >> pure (Counts sent 1 total)
  pure (serve requests, client)
{-# INLINE tell #-}

serve :: Queue q => q (Request q) -> IO Counts
serve requests = go 0
  where
    go !sent = do
      request <- receive requests
      case request of
        Ping number reply -> send reply number >> go (sent + 1)
        Stop -> pure (Counts sent 1 0)
{-# INLINE serve #-}

-- | Two queues that both sides know, the message is the number alone; one below 0 ends the server.
fixed :: forall q. Queue q => Cell
fixed = pairs 1 $ \n _ -> do
  requests <- newQueue @q
  replies <- newQueue @q
  let server !sent = do
        number <- receive requests
        if number < 0 then pure (Counts sent 1 0) else send replies number >> server (sent + 1)
      client :: Int -> Int -> IO Counts
      client !sent !total
        | sent < n = do
            send requests sent
            number <- receive replies
            client (sent + 1) (total + number)
        | otherwise = send requests (-1) >> pure (Counts sent 1 total)
  pure (server 0, client 0 0)
{-# INLINE fixed #-}

data Call = Call !Int {-# UNPACK #-} !(MVar Int) | End

-- | A fresh MVar for each answer.
call :: forall q. Queue q => Cell
call = pairs 1 $ \n _ -> do
  requests <- newQueue @q
  let server !sent = do
        request <- receive requests
        case request of
          Call number reply -> putMVar reply number >> server (sent + 1)
          End -> pure (Counts sent 1 0)
      client :: Int -> Int -> IO Counts
      client !sent !total
        | sent < n = do
            reply <- newEmptyMVar
            send requests (Call sent reply)
            number <- takeMVar reply
            client (sent + 1) (total + number)
        | otherwise = send requests End >> pure (Counts sent 1 total)
  pure (server 0, client 0 0)
{-# INLINE call #-}

-- | 'fixed' on buffers of one place, where each operation stands in a choice beside a receive of
-- what nobody sends.
choice :: Cell
choice = pairs 1 $ \n _ -> do
  requests <- newEmptyTMVarIO
  replies <- newEmptyTMVarIO
  let server !sent never = do
        number <- either id id <$> atomically ((Right <$> takeTMVar requests) `orElse` (Left <$> takeTMVar never))
        if number < 0
          then pure (Counts sent 1 0)
          else do
            atomically (putTMVar replies number `orElse` (() <$ takeTMVar never))
            server (sent + 1) never
      client :: Int -> Int -> TMVar Int -> IO Counts
      client !sent !total never
        | sent < n = do
            atomically (putTMVar requests sent `orElse` (() <$ takeTMVar never))
            number <- atomically (takeTMVar replies `orElse` takeTMVar never)
            client (sent + 1) (total + number) never
        | otherwise = atomically (putTMVar requests (-1)) >> pure (Counts sent 1 total)
  pure (newEmptyTMVarIO >>= server 0, newEmptyTMVarIO >>= client 0 0)
