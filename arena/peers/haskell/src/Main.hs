-- | The Haskell peer of the arena: the workloads of WORKLOADS.md on the queues that GHC brings,
-- behind the peer protocol.
module Main (main) where

import Control.Concurrent
import Control.Exception (SomeException, throwIO, try)
import System.Environment (getArgs)
import System.Exit (ExitCode (..), exitWith)
import System.IO (hPutStrLn, stderr)

import Protocol
import Systems

-- | The thread of main is bound to an OS thread, which makes each of its waits dear; the driver is
-- a plain thread that stays on the first capability.
main :: IO ()
main = do
  args <- getArgs
  case (option "--arena" args, option "--system" args) of
    (Just "1", Just system) | Just cells <- lookup system systems -> drive (serve system cells)
    _ -> do
      hPutStrLn stderr ("this peer speaks to the arena: --arena 1 --system " ++ unwords (map fst systems))
      exitWith (ExitFailure 2)

drive :: IO () -> IO ()
drive action = do
  end <- newEmptyMVar
  _ <- forkOn 0 (try action >>= putMVar end)
  takeMVar end >>= either (throwIO :: SomeException -> IO ()) pure

option :: String -> [String] -> Maybe String
option key (word : value : rest)
  | word == key = Just value
  | otherwise = option key (value : rest)
option _ _ = Nothing
