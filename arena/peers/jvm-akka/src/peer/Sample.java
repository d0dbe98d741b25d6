package peer;

/** A prepared cell. */
interface Sample extends AutoCloseable {
    /** Does the scenario {@code inner} times. */
    Result run(long inner) throws Exception;

    @Override
    void close();
}
