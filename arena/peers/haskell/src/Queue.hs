{-# LANGUAGE KindSignatures #-}
-- | The queues that the workloads run on, each behind the same three functions.
module Queue (Queue (..), Room, Rendezvous, Mailbox, receiveAll) where

import Control.Concurrent
import Control.Concurrent.STM
import Control.Monad (when)
import Data.IORef
import Data.Proxy (Proxy (..))
import GHC.TypeLits (KnownNat, Nat, natVal)

class Queue q where
  newQueue :: IO (q a)
  send :: q a -> a -> IO ()
  receive :: q a -> IO a

-- | Unbounded.
instance Queue Chan where
  newQueue = newChan
  send = writeChan
  receive = readChan
  {-# INLINE newQueue #-}
  {-# INLINE send #-}
  {-# INLINE receive #-}

-- | A buffer of one place.
instance Queue MVar where
  newQueue = newEmptyMVar
  send = putMVar
  receive = takeMVar
  {-# INLINE newQueue #-}
  {-# INLINE send #-}
  {-# INLINE receive #-}

-- | Unbounded.
instance Queue TQueue where
  newQueue = newTQueueIO
  send q = atomically . writeTQueue q
  receive = atomically . readTQueue
  {-# INLINE newQueue #-}
  {-# INLINE send #-}
  {-# INLINE receive #-}

-- | A buffer of one place.
instance Queue TMVar where
  newQueue = newEmptyTMVarIO
  send q = atomically . putTMVar q
  receive = atomically . takeTMVar
  {-# INLINE newQueue #-}
  {-# INLINE send #-}
  {-# INLINE receive #-}

-- | A buffer of so many places.
newtype Room (places :: Nat) a = Room (TBQueue a)

instance KnownNat places => Queue (Room places) where
  newQueue = Room <$> newTBQueueIO (fromIntegral (natVal (Proxy :: Proxy places)))
  send (Room q) = atomically . writeTBQueue q
  receive (Room q) = atomically (readTBQueue q)
  {-# INLINE newQueue #-}
  {-# INLINE send #-}
  {-# INLINE receive #-}

-- | A sender waits until its value was taken: it offers the value with an MVar of its own.
newtype Rendezvous a = Rendezvous (MVar (Offer a))

data Offer a = Offer a {-# UNPACK #-} !(MVar ())

instance Queue Rendezvous where
  newQueue = Rendezvous <$> newEmptyMVar
  send (Rendezvous offers) value = do
    taken <- newEmptyMVar
    putMVar offers (Offer value taken)
    takeMVar taken
  receive (Rendezvous offers) = do
    Offer value taken <- takeMVar offers
    putMVar taken ()
    pure value
  {-# INLINE newQueue #-}
  {-# INLINE send #-}
  {-# INLINE receive #-}

-- | Unbounded, many senders and one receiver: senders push on a stack, the receiver takes all of
-- it at once and turns it round, and sleeps on an MVar only when there is nothing.
data Mailbox a = Mailbox
  {-# UNPACK #-} !(IORef (Stack a)) -- pushed and not yet taken
  {-# UNPACK #-} !(IORef [a]) -- taken, the oldest first; the receiver's own
  {-# UNPACK #-} !(MVar ()) -- wakes the receiver

data Stack a = Asleep | Empty | Push a !(Stack a)

instance Queue Mailbox where
  newQueue = Mailbox <$> newIORef Empty <*> newIORef [] <*> newEmptyMVar
  send (Mailbox pushed _ wake) value = do
    asleep <- atomicModifyIORef' pushed $ \stack -> case stack of
      Asleep -> (Push value Empty, True)
      _ -> (Push value stack, False)
    when asleep (putMVar wake ())
  receive mailbox@(Mailbox _ taken _) = readIORef taken >>= first
    where
      first (value : rest) = writeIORef taken rest >> pure value
      first [] = pull mailbox >>= first
  {-# INLINE newQueue #-}
  {-# INLINE send #-}

-- | All that waits, at least one value.
receiveAll :: Mailbox a -> IO [a]
receiveAll mailbox@(Mailbox _ taken _) = do
  values <- readIORef taken
  if null values then pull mailbox else values <$ writeIORef taken []

-- | What was pushed, the oldest first; waits for the first.
pull :: Mailbox a -> IO [a]
pull mailbox@(Mailbox pushed _ wake) = do
  stack <- atomicModifyIORef' pushed $ \stack -> case stack of
    Push _ _ -> (Empty, stack)
    _ -> (Asleep, Empty)
  case stack of
    Push value rest -> pure (turned rest [value])
    _ -> takeMVar wake >> pull mailbox
  where
    turned (Push value rest) values = turned rest (value : values)
    turned _ values = values
