-- | The peer protocol: words in, one line of JSON out.
module Protocol (serve) where

import Control.Concurrent
import Control.Exception
import Control.Monad (forM_, when)
import Data.List (sort)
import Data.Maybe (fromMaybe)
import Data.Version (showVersion)
import GHC.Clock (getMonotonicTimeNSec)
import GHC.Environment (getFullArgs)
import GHC.Stats
import System.IO
import System.Info
import System.Mem (performMajorGC)
import System.Posix.Internals (c_getpid)
import Text.Read (readMaybe)

import Cell
import Json

-- | Runs until quit or the end of the input.
serve :: String -> [(String, Cell)] -> IO ()
serve system cells = do
  forM_ [stdin, stdout, stderr] (`hSetEncoding` utf8)
  hSetBuffering stdout LineBuffering
  hello system (map fst cells) >>= put
  loop Nothing
  where
    put = putStrLn . line
    loop current = do
      end <- isEOF
      spoken <- if end then pure ["quit"] else words <$> getLine
      case spoken of
        "quit" : _ -> pure ()
        _ -> do
          let (command, args) = parse spoken
              ident = maybe 0 (max 0) (fromMaybe Nothing (lookup "id" (numbers args)))
              answer kind fields = put (("t", Text kind) : ("id", number ident) : fields)
          outcome <- try (obey cells command args current)
          case outcome of
            Right (kind, fields, next) -> answer kind fields >> loop next
            Left failure -> do
              let (kind, text) = explain failure
              answer "err" [("kind", Text kind), ("msg", Text text)]
              loop (if command == "prep" then Nothing else current)

number :: Integral a => a -> Value
number = Number . toInteger

parse :: [String] -> (String, [(String, String)])
parse [] = ("", [])
parse (command : rest) = (command, [(key, drop 1 value) | word <- rest, let (key, value) = break (== '=') word])

-- | Every value as a number of 64 bits, if it is one.
numbers :: [(String, String)] -> Args
numbers args = [(key, small =<< readMaybe value) | (key, value) <- args]
  where
    small :: Integer -> Maybe Int
    small n = if n == toInteger (fromInteger n :: Int) then Just (fromInteger n) else Nothing

-- | The kind of the answer, its fields and what is prepared after it.
type Answer = (String, [(String, Value)], Maybe Sample)

obey :: [(String, Cell)] -> String -> [(String, String)] -> Maybe Sample -> IO Answer
obey cells command args current = case command of
  "prep" -> case lookup name cells of
    Nothing -> throwIO (Unsupported ("no cell " ++ show name))
    Just cell -> do
      setThreads sent
      sample <- cell sent
      pure ("ok", [], Just sample)
  "run" -> maybe (throwIO (Bug "run without prep")) (run sent) current
  "drop" -> performMajorGC >> pure ("ok", [], Nothing)
  "ping" -> pure ("ok", [], current)
  _ -> throwIO (Unsupported ("unknown command " ++ show command))
  where
    name = fromMaybe "" (lookup "cell" args)
    sent = numbers args

setThreads :: Args -> IO ()
setThreads args = when (any ((== "threads") . fst) args) $ do
  [threads] <- sizes [("threads", 1024)] args
  now <- getNumCapabilities
  when (threads /= now) (setNumCapabilities threads)

run :: Args -> Sample -> IO Answer
run args sample = do
  [inner] <- sizes [("inner", 2 ^ (30 :: Int))] (args ++ [("inner", Just 1)])
  (minor, major) <- collections
  (ns, counts) <- sample inner
  (minor', major') <- collections
  let fields =
        [ ("ns", number ns), ("inner", number inner), ("msgs", number (msgs counts))
        , ("units", number (units counts)), ("check", number (check counts))
        , ("gc", List [number (minor' - minor), number (major' - major)])
        ]
  pure ("sample", fields, Just sample)

-- | Collections of the young generation alone, and of all.
collections :: IO (Int, Int)
collections = do
  stats <- getRTSStats
  let major = fromIntegral (major_gcs stats)
  pure (fromIntegral (gcs stats) - major, major)

explain :: SomeException -> (String, String)
explain failure = case fromException failure of
  Just (Limit text) -> ("limit", text)
  Just (Unsupported text) -> ("unsupported", text)
  Just (Bug text) -> ("bug", text)
  Nothing -> case fromException failure of
    Just HeapOverflow -> ("oom", "heap overflow")
    _ -> ("bug", displayException failure)

hello :: String -> [String] -> IO [(String, Value)]
hello system cells = do
  pid <- c_getpid
  threads <- getNumCapabilities
  full <- getFullArgs
  step <- minimum <$> mapM (const clockStep) [1 .. 1000 :: Int]
  let version = showVersion fullCompilerVersion
      rts = takeWhile (/= "-RTS") (dropWhile (/= "+RTS") full)
  pure
    [ ("t", Text "hello"), ("system", Text system), ("peer", Text "haskell"), ("version", Text version)
    , ("runtime", Text (compilerName ++ " " ++ version ++ ", " ++ os ++ "/" ++ arch))
    , ("flags", Text (unwords ("ghc -O2 -threaded" : rts))), ("threads", number threads)
    , ("pid", number pid), ("clock_ns", number step), ("caps", List [Text "gc"])
    , ("cells", List (map Text (sort cells)))
    ]

-- | The clock's next step, in ns.
clockStep :: IO Integer
clockStep = do
  begin <- getMonotonicTimeNSec
  let next = do
        now <- getMonotonicTimeNSec
        if now == begin then next else pure (toInteger (now - begin))
  next
