-- | net between two processes: what prep makes for a role, and how the clients run on it.
module Link (Echo, Transport (..), twoProcesses, oneProcess, verified) where

import Control.Concurrent
import Control.Exception (onException, throwIO)
import Data.Word (Word64)
import Network.Socket (Socket)

import Cell
import Json
import Paced
import Tcp

-- | What a kind of connection does: at the server with each it accepts; at the client it gives N
-- ends of pairs and how to close them. And how it forks its threads, by their numbers.
data Transport = Transport
  { forking :: Int -> IO () -> IO ThreadId
  , serving :: Int -> Socket -> IO ()
  , connecting :: Address -> Int -> IO ([Echo], IO ())
  }

twoProcesses :: Transport -> Args -> IO Prepared
twoProcesses transport args = do
  (n, m) <- pairSizes args
  case (lookup "role" args, lookup "addr" args) of
    (Just "server", _) -> do
      (address, end) <- listening (forking transport) (serving transport n)
      pure
        Prepared
          { sample = \_ -> throwIO (Bug "a server runs nothing")
          , told = [("addr", Text address)]
          , schedule = Nothing
          , finish = end
          }
    (Just "client", Just address) -> clients transport address n m
    _ -> throwIO (Limit "role: must be server, or client with the address of one")

oneProcess :: Transport -> Args -> IO Prepared
oneProcess transport args = do
  (n, m) <- pairSizes args
  (address, end) <- listening (forking transport) (serving transport n)
  prepared <- clients transport address n m `onException` end
  pure prepared {finish = finish prepared >> end}

pairSizes :: Args -> IO (Int, Int)
pairSizes args = do
  [n, m] <- sizes [("N", 100000), ("M", 2 ^ (31 :: Int))] args
  pure (n, m)

-- | All connected, each after one echo that counts nowhere.
clients :: Transport -> Address -> Int -> Int -> IO Prepared
clients transport address n m = do
  (ready, (ends, end)) <- timed $ do
    (ends, end) <- connecting transport address n
    started <- startEach (forking transport) [() <$ verified echo (-1) | echo <- ends]
    awaitAll started `onException` end
    pure (ends, end)
  pure
    Prepared
      { sample = repeatedParts (once (forking transport) ends m)
      , told = [("ready_ns", Number (toInteger ready))]
      , schedule = Just (paced (forking transport) ends)
      , finish = end
      }

once :: (Int -> IO () -> IO ThreadId) -> [Echo] -> Int -> IO (Word64, Counts)
once fork ends m = do
  gate <- newEmptyMVar
  started <- startEach fork [readMVar gate >> calls echo m | echo <- ends]
  timed (putMVar gate () >> awaitAll started)

-- | A client has sent and received as many as were answered; the other unit is its server.
calls :: Echo -> Int -> IO Counts
calls echo m = go 0 0
  where
    go !number !total
      | number < m = verified echo number >>= go (number + 1) . (total +)
      | otherwise = pure (Counts (2 * number) 2 total)
