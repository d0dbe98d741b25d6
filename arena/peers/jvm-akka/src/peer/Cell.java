package peer;

/** Checks the sizes of a prep command and makes everything that is not timed. */
interface Cell {
    Sample prepare(Words words) throws Exception;
}
