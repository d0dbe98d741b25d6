-- | echo-mux: all pairs share one connection. At each end one thread reads and hands every parcel
-- to its pair's queue, one writes all that waits in one piece. All threads of an end run on one
-- capability.
module Mux (shared) where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.Array
import Data.Word
import Foreign hiding (void)
import Network.Socket (Socket, close)

import Cell
import Link
import Queue
import Tcp

-- | What one frame holds: the pair and the number.
data Parcel = Parcel !Int !Int

-- | What a pair's queue holds.
data Incoming = Number !Int | Gone

shared :: forall q. Queue q => Transport
shared = Transport {forking = const forkIO, serving = serveAll @q, connecting = connectAll @q}
{-# INLINE shared #-}

-- | The servers of all pairs, each a thread with a queue of its own.
serveAll :: forall q. Queue q => Int -> Socket -> IO ()
serveAll n connection = do
  out <- newQueue
  queues <- replicateM n (newQueue @q)
  let serve pair queue = do
        incoming <- receive queue
        case incoming of
          Number number -> send out (Parcel pair number) >> serve pair queue
          Gone -> pure ()
  zipWithM_ (\pair queue -> forkIO (serve pair queue)) [0 ..] queues
  writer <- forkIO (writing connection out)
  reading connection queues `finally` killThread writer
{-# INLINE serveAll #-}

connectAll :: forall q. Queue q => Address -> Int -> IO ([Echo], IO ())
connectAll address n = do
  connection <- dial address
  out <- newQueue
  queues <- replicateM n (newQueue @q)
  writer <- forkIO (writing connection out)
  reader <- forkIO (reading connection queues `catch` complain)
  let echo pair queue number = do
        send out (Parcel pair number)
        incoming <- receive queue
        case incoming of
          Number answer -> pure answer
          Gone -> lost
  pure (zipWith echo [0 ..] queues, mapM_ killThread [writer, reader] >> close connection)
{-# INLINE connectAll #-}

frameBytes, bufferBytes :: Int
frameBytes = 16
bufferBytes = 65536

-- | Joins what waits, and waits for nothing more.
writing :: Socket -> Mailbox Parcel -> IO ()
writing connection out = allocaBytes bufferBytes $ \buffer -> do
  let fill held parcels
        | held + frameBytes > bufferBytes = sendAll connection buffer held >> fill 0 parcels
      fill held (Parcel pair number : rest) = do
        let frame = buffer `plusPtr` held
        poke frame (bigEndian byteSwap32 12)
        pokeByteOff frame 4 (bigEndian byteSwap32 (fromIntegral pair))
        pokeByteOff frame 8 (bigEndian byteSwap64 (fromIntegral number))
        fill (held + frameBytes) rest
      fill held [] = sendAll connection buffer held
  forever (receiveAll out >>= fill 0)

-- | Until the other end closes; then every pair is told.
reading :: Queue q => Socket -> [q Incoming] -> IO ()
reading connection queues = allocaBytes bufferBytes (go 0) `finally` mapM_ (`send` Gone) queues
  where
    pairs = listArray (0, length queues - 1) queues
    go held buffer = do
      got <- receiveSome connection buffer bufferBytes held frameBytes
      if got < frameBytes
        then when (got > 0) lost
        else do
          rest <- deliver buffer 0 got
          moveBytes buffer (buffer `plusPtr` (got - rest)) rest
          go rest buffer
    -- Says how many bytes of an incomplete frame are left.
    deliver :: Ptr Word8 -> Int -> Int -> IO Int
    deliver buffer at got
      | at + frameBytes > got = pure (got - at)
      | otherwise = do
          let frame = buffer `plusPtr` at
          size <- bigEndian byteSwap32 <$> peek frame
          pair <- fromIntegral . bigEndian byteSwap32 <$> peekByteOff frame 4
          number <- fromIntegral . bigEndian byteSwap64 <$> peekByteOff frame 8
          when (size /= 12 || pair > snd (bounds pairs)) $
            throwIO (Bug ("a frame of " ++ show size ++ " bytes for pair " ++ show pair))
          send (pairs ! pair) (Number number)
          deliver buffer (at + frameBytes) got
{-# INLINE reading #-}
