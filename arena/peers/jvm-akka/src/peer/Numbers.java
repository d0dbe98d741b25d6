package peer;

import akka.serialization.ByteBufferSerializer;
import akka.serialization.SerializerWithStringManifest;
import java.nio.ByteBuffer;

/** What goes over the wire in {@link Remote}: a byte that tells request from reply by its manifest, and eight for the number. */
public final class Numbers extends SerializerWithStringManifest implements ByteBufferSerializer {
    private static final String REQUEST = "Q";
    private static final String REPLY = "R";

    @Override
    public int identifier() {
        return 4711;
    }

    @Override
    public String manifest(Object message) {
        return message instanceof Remote.Request ? REQUEST : REPLY;
    }

    /** Artery's way: into the buffer that is sent. */
    @Override
    public void toBinary(Object message, ByteBuffer buffer) {
        buffer.putLong(message instanceof Remote.Request request ? request.number() : ((Remote.Reply) message).number());
    }

    @Override
    public Object fromBinary(ByteBuffer buffer, String manifest) {
        long number = buffer.getLong();
        return manifest.equals(REQUEST) ? new Remote.Request(number) : new Remote.Reply(number);
    }

    @Override
    public byte[] toBinary(Object message) {
        ByteBuffer buffer = ByteBuffer.allocate(Long.BYTES);
        toBinary(message, buffer);
        return buffer.array();
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) {
        return fromBinary(ByteBuffer.wrap(bytes), manifest);
    }
}
