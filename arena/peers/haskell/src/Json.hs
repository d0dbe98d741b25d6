-- | As much JSON as the answers of a peer need.
module Json (Value (..), line) where

import Data.Char (ord)
import Data.List (intercalate)
import Numeric (showHex)

data Value = Number Integer | Text String | List [Value]

line :: [(String, Value)] -> String
line fields = "{" ++ intercalate "," (map member (("arena", Number 1) : fields)) ++ "}"
  where
    member (key, value) = value' (Text key) ++ ":" ++ value' value
    value' (Number n) = show n
    value' (Text text) = "\"" ++ concatMap escape text ++ "\""
    value' (List values) = "[" ++ intercalate "," (map value' values) ++ "]"

escape :: Char -> String
escape '"' = "\\\""
escape '\\' = "\\\\"
escape c
  | ord c < 32 = "\\u" ++ replicate (4 - length hex) '0' ++ hex
  | otherwise = [c]
  where
    hex = showHex (ord c) ""
