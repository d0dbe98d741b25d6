-- | TCP on the loopback device: an acceptor with a thread for each connection, and the frames of
-- the cells with a connection for each client.
module Tcp
  ( Address, listening, dial, sendAll, receiveSome, lost, complain, bigEndian
  , frameOf, serveEcho, connectEach
  ) where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.IORef
import Data.Word
import Foreign
import GHC.ByteOrder (ByteOrder (..), targetByteOrder)
import Network.Socket
import System.IO (hPutStrLn, stderr)

import Cell
import Paced (Echo)

-- | As "127.0.0.1:43511".
type Address = String

-- | Accepts and runs the handler for each connection, in threads forked by their numbers; gives the
-- address and how to end it all.
listening :: (Int -> IO () -> IO ThreadId) -> (Socket -> IO ()) -> IO (Address, IO ())
listening fork handler = do
  listener <- socket AF_INET Stream defaultProtocol
  bind listener (SockAddrInet 0 (tupleToHostAddress (127, 0, 0, 1)))
  listen listener 4096
  port <- socketPort listener
  running <- newIORef []
  let accepting k = do
        (connection, _) <- accept listener
        setSocketOption connection NoDelay 1
        thread <- fork k (handled connection)
        modifyIORef' running (thread :)
        accepting (k + 1)
      handled connection = (handler connection `catch` complain) `finally` close connection
  acceptor <- forkIO (accepting 0)
  let end = do
        killThread acceptor
        close listener
        readIORef running >>= mapM_ killThread
  pure ("127.0.0.1:" ++ show port, end)

-- | Tells the log of a connection that did not end as connections should.
complain :: SomeException -> IO ()
complain failure = case fromException failure of
  Just ThreadKilled -> pure ()
  _ -> hPutStrLn stderr ("peer-haskell: " ++ displayException failure)

dial :: Address -> IO Socket
dial address = do
  let (host, port) = break (== ':') address
  server <- getAddrInfo (Just defaultHints {addrFlags = [AI_NUMERICHOST], addrSocketType = Stream}) (Just host) (Just (drop 1 port))
  connection <- socket AF_INET Stream defaultProtocol
  flip onException (close connection) $ do
    mapM_ (connect connection . addrAddress) (take 1 server)
    setSocketOption connection NoDelay 1
  pure connection

sendAll :: Socket -> Ptr Word8 -> Int -> IO ()
sendAll connection = go
  where
    go bytes left = when (left > 0) $ do
      sent <- sendBuf connection bytes left
      go (bytes `plusPtr` sent) (left - sent)

-- | Reads into a buffer that has already so many bytes, until it has at least so many; says how
-- many, which is fewer only at the end of the connection.
receiveSome :: Socket -> Ptr Word8 -> Int -> Int -> Int -> IO Int
receiveSome connection buffer room = go
  where
    go held least
      | held >= least = pure held
      | otherwise = do
          more <- recvBuf connection (buffer `plusPtr` held) (room - held)
          if more == 0 then pure held else go (held + more) least

lost :: IO a
lost = throwIO (Bug "the connection is gone")

bigEndian :: (a -> a) -> a -> a
bigEndian swapped = case targetByteOrder of
  BigEndian -> id
  LittleEndian -> swapped

-- | A frame of this peer: the length of the number, and the number.
frameOf :: Ptr Word8 -> Int -> IO ()
frameOf frame number = do
  poke (castPtr frame) (bigEndian byteSwap32 8)
  pokeByteOff frame 4 (bigEndian byteSwap64 (fromIntegral number))

frameBytes :: Int
frameBytes = 12

-- | A whole frame, or what there was of it at the end of the connection.
receiveFrame :: Socket -> Ptr Word8 -> IO Int
receiveFrame connection frame = do
  got <- receiveSome connection frame frameBytes 0 frameBytes
  when (got == frameBytes) $ do
    length' <- bigEndian byteSwap32 <$> peek (castPtr frame)
    when (length' /= 8) $ throwIO (Bug ("a frame of " ++ show length' ++ " bytes, must have 8"))
  pure got

-- | Answers one client until it leaves.
serveEcho :: Socket -> IO ()
serveEcho connection = allocaBytes frameBytes serve
  where
    serve frame = do
      got <- receiveFrame connection frame
      if got == frameBytes
        then sendAll connection frame frameBytes >> serve frame
        else when (got > 0) lost

-- | A connection for each client, all at once.
connectEach :: Address -> Int -> IO ([Echo], IO ())
connectEach address n = do
  dialled <- replicateM n (start (try (dial address)))
  tried <- mapM await dialled :: IO [Either IOException Socket]
  let connections = [connection | Right connection <- tried]
      end = mapM_ close connections
  mapM_ (either throwIO (const (pure ()))) tried `onException` end
  echoes <- mapM echoOver connections
  pure (echoes, end)

echoOver :: Socket -> IO Echo
echoOver connection = do
  buffer <- mallocForeignPtrBytes frameBytes
  pure $ \number -> withForeignPtr buffer $ \frame -> do
    frameOf frame number
    sendAll connection frame frameBytes
    got <- receiveFrame connection frame
    when (got < frameBytes) lost
    fromIntegral . bigEndian byteSwap64 <$> peekByteOff frame 4
