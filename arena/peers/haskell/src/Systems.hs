{-# OPTIONS_GHC -fno-full-laziness #-} -- as in Counter, whose loops are inlined here
-- | The systems of this peer and their cells: what each kind of queue can run.
module Systems (systems) where

import Control.Concurrent (Chan, MVar, forkOn)
import Control.Concurrent.STM (TMVar, TQueue)

import Cell
import Chain
import qualified Counter
import Fan
import Link
import Mux
import Net
import qualified Pingpong
import Queue
import qualified Select
import qualified Skynet
import qualified Spawn
import Tcp

systems :: [(String, [(String, Args -> IO Prepared)])]
systems =
  [ ("haskell", plain chan ++ sockets ++ [("net/echo-mux", twoProcesses (shared @Chan))])
  , ("haskell-mvar", plain mvar ++ [("net/echo-mux", twoProcesses (shared @MVar))])
  , ("haskell-stm", plain stm)
  , ("haskell-ioref", plain ioref ++ [("net/echo-mux", twoProcesses (shared @Mailbox))])
  ]
  where
    plain cells = [(name, fmap alone . cell) | (name, cell) <- cells]

-- | Those in which no queue takes part.
sockets :: [(String, Args -> IO Prepared)]
sockets =
  [ ("net/echo", twoProcesses each)
  , ("net/paced", twoProcesses each)
  , ("net/echo-oneproc", oneProcess each)
  ]
  where
    each = Transport {forking = forkOn, serving = const serveEcho, connecting = connectEach}

chan :: [(String, Cell)]
chan =
  [ ("pingpong/tell", Pingpong.tell @Chan 1)
  , ("pingpong/tell-w100", Pingpong.tell @Chan 100)
  , ("pingpong/tell-w1000", Pingpong.tell @Chan 1000)
  , ("pingpong/tell-fixed", Pingpong.fixed @Chan)
  , ("pingpong/call-send", Pingpong.call @Chan)
  , ("chain/struct", chain @Chan)
  , ("fan/struct", fan @Chan)
  , ("counter/send", Counter.plain @Chan)
  , ("counter/ask-each", Counter.askEach @Chan)
  , ("counter/threads", Counter.threads @Chan)
  , ("skynet/tree-ch", Skynet.tree @Chan)
  , ("skynet/alive", Skynet.alive @Chan)
  , ("skynet/floor", Skynet.plain)
  , ("skynet/original:parallel", Skynet.parallel)
  , ("spawn/detached", Spawn.detached)
  , ("spawn/joined", Spawn.joined)
  , ("net/local", local @Chan)
  ]

mvar :: [(String, Cell)]
mvar =
  [ ("pingpong/tell", Pingpong.tell @MVar 1)
  , ("pingpong/send", Pingpong.tell @MVar 1)
  , ("pingpong/tell-bounded", Pingpong.tell @MVar 1)
  , ("pingpong/tell-fixed", Pingpong.fixed @MVar)
  , ("pingpong/give", Pingpong.tell @Rendezvous 1)
  , ("pingpong/give-fixed", Pingpong.fixed @Rendezvous)
  , ("pingpong/call", Pingpong.call @Rendezvous)
  , ("pingpong/call-send", Pingpong.call @MVar)
  , ("chain/struct", chain @MVar)
  , ("counter/give", Counter.inTurns @Rendezvous)
  , ("counter/mutex", Counter.mutex)
  , ("skynet/tree-ch", Skynet.tree @MVar)
  , ("skynet/tasks", Skynet.tasks)
  , ("skynet/alive", Skynet.alive @MVar)
  , ("net/local", local @MVar)
  ]

stm :: [(String, Cell)]
stm =
  [ ("pingpong/tell", Pingpong.tell @TQueue 1)
  , ("pingpong/tell-w100", Pingpong.tell @TQueue 100)
  , ("pingpong/tell-w1000", Pingpong.tell @TQueue 1000)
  , ("pingpong/tell-bounded", Pingpong.tell @TMVar 1)
  , ("pingpong/tell-fixed", Pingpong.fixed @TQueue)
  , ("pingpong/choice", Pingpong.choice)
  , ("chain/struct", chain @TQueue)
  , ("fan/struct", fan @TQueue)
  , ("counter/send", Counter.plain @TQueue)
  , ("counter/bounded-1024", Counter.inTurns @(Room 1024))
  , ("counter/ask-each", Counter.askEach @TQueue)
  , ("counter/select", Select.selectTimed)
  , ("counter/select-no-timer", Select.select)
  , ("counter/select-buffered", Select.bufferedTimed)
  , ("counter/select-buffered-no-timer", Select.buffered)
  , ("skynet/tree-ch", Skynet.tree @(Room 10))
  , ("skynet/alive", Skynet.alive @(Room 10))
  ]

ioref :: [(String, Cell)]
ioref =
  [ ("pingpong/tell", Pingpong.tell @Mailbox 1)
  , ("pingpong/tell-w100", Pingpong.tell @Mailbox 100)
  , ("pingpong/tell-w1000", Pingpong.tell @Mailbox 1000)
  , ("pingpong/tell-fixed", Pingpong.fixed @Mailbox)
  , ("chain/struct", chain @Mailbox)
  , ("fan/struct", fan @Mailbox)
  , ("counter/send", Counter.plain @Mailbox)
  , ("counter/ask-each", Counter.askEach @Mailbox)
  , ("skynet/tree-ch", Skynet.tree @Mailbox)
  , ("net/local", local @Mailbox)
  ]
