-- | The peer protocol: words in, one line of JSON out.
module Protocol (serve) where

import Control.Concurrent
import Control.Exception
import Control.Monad (forM_, when)
import Data.List (sort)
import Data.Maybe (fromMaybe)
import Data.Version (showVersion)
import Data.Word (Word64)
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
serve :: String -> [(String, Args -> IO Prepared)] -> IO ()
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
              ident = maybe 0 (max 0) (lookup "id" args >>= readMaybe) :: Int
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

parse :: [String] -> (String, Args)
parse [] = ("", [])
parse (command : rest) = (command, [(key, drop 1 value) | word <- rest, let (key, value) = break (== '=') word])

-- | The kind of the answer, its fields and what is prepared after it.
type Answer = (String, [(String, Value)], Maybe Prepared)

obey :: [(String, Args -> IO Prepared)] -> String -> Args -> Maybe Prepared -> IO Answer
obey cells command args current = case command of
  "prep" -> do
    mapM_ finish current
    case lookup name cells of
      Nothing -> throwIO (Unsupported ("no cell " ++ show name))
      Just cell -> do
        setThreads args
        prepared <- cell args
        pure ("ok", told prepared, Just prepared)
  "run" -> case current of
    Nothing -> throwIO (Bug "run without prep")
    Just prepared -> do
      fields <- if lookup "hist" args == Just "1" then runPaced args prepared else run args prepared
      pure ("sample", fields, current)
  "drop" -> mapM_ finish current >> performMajorGC >> pure ("ok", [], Nothing)
  "ping" -> pure ("ok", [], current)
  _ -> throwIO (Unsupported ("unknown command " ++ show command))
  where
    name = fromMaybe "" (lookup "cell" args)

setThreads :: Args -> IO ()
setThreads args = when (any ((== "threads") . fst) args) $ do
  [threads] <- sizes [("threads", 1024)] args
  now <- getNumCapabilities
  when (threads /= now) (setNumCapabilities threads)

run :: Args -> Prepared -> IO [(String, Value)]
run args prepared = do
  [inner] <- sizes [("inner", 2 ^ (30 :: Int))] (args ++ [("inner", "1")])
  ((ns, counts), collected) <- countingCollections (sample prepared inner)
  pure (counted ns inner counts collected)

runPaced :: Args -> Prepared -> IO [(String, Value)]
runPaced args prepared = case schedule prepared of
  Nothing -> throwIO (Unsupported "this cell has no schedule")
  Just paced -> do
    [rate, secs] <- sizes [("rate", 100000000), ("secs", 10000)] args
    (went, collected) <- countingCollections (paced rate secs)
    pure (counted (lasted went) 1 (did went) collected ++ [("hist", pairs (due went)), ("hist_service", pairs (service went))])
  where
    pairs buckets = List [List [number bucket, number count] | (bucket, count) <- buckets]

counted :: Word64 -> Int -> Counts -> [Value] -> [(String, Value)]
counted ns inner counts collected =
  [ ("ns", number ns), ("inner", number inner), ("msgs", number (msgs counts))
  , ("units", number (units counts)), ("check", number (check counts)), ("gc", List collected)
  ]

countingCollections :: IO a -> IO (a, [Value])
countingCollections action = do
  (minor, major) <- collections
  result <- action
  (minor', major') <- collections
  pure (result, [number (minor' - minor), number (major' - major)])

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
    , ("pid", number pid), ("clock_ns", number step), ("caps", List [Text "gc", Text "hist"])
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
