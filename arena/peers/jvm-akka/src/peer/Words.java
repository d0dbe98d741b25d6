package peer;

import java.util.HashMap;
import java.util.Map;

/** A command of the harness: its name and key=value words. */
final class Words {
    private final String command;
    private final Map<String, String> values = new HashMap<>();

    Words(String line) {
        String[] words = line.strip().split(" +");
        command = words[0];
        for (String word : words) {
            int equals = word.indexOf('=');
            if (equals > 0) {
                values.put(word.substring(0, equals), word.substring(equals + 1));
            }
        }
    }

    String command() {
        return command;
    }

    /** The value of a key, empty if it was not sent. */
    String word(String key) {
        return values.getOrDefault(key, "");
    }

    long number(String key, long otherwise) {
        String value = values.get(key);
        if (value == null) {
            return otherwise;
        }
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw new Refusal("limit", key + "=" + value + " is not a 64-bit number");
        }
    }

    /** A size from 1 to max; inner may be left out. */
    long size(String key, long max) {
        long value = number(key, key.equals("inner") ? 1 : 0);
        if (value < 1 || value > max) {
            throw new Refusal("limit", key + "=" + value + ": this peer takes 1 to " + max);
        }
        return value;
    }
}
