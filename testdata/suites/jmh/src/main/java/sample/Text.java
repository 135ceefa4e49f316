// Benchmarks of texts, in the default mode of JMH.
package sample;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

@State(Scope.Benchmark)
public class Text {
    private final String line = "the quick brown fox jumps over the lazy dog, ".repeat(20);
    private final byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
    private final String[] words = line.split(" ");
    private final String[] integers = "17 -42 123456789 7000000000000 -31415926535 65535 271828 -1".split(" ");
    private final Pattern expression = Pattern.compile("\\b\\wo\\w\\b");

    @Benchmark
    public String[] split() {
        return line.split(" ");
    }

    @Benchmark
    public String join() {
        return String.join("-", words);
    }

    @Benchmark
    public String replace() {
        return line.replace("fox", "weasel");
    }

    @Benchmark
    @BenchmarkMode(Mode.SampleTime)
    public long regex() {
        return expression.matcher(line).results().count();
    }

    // A nested class, whose benchmark has the name of another one.
    public static class Slow extends Base {
        @Benchmark
        public byte[] sha256() throws Exception {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        }
    }

    @State(Scope.Benchmark)
    public static class Base {
        final byte[] bytes = new byte[4000];

        @Benchmark
        public long crc32() {
            CRC32 sum = new CRC32();
            sum.update(bytes);
            return sum.getValue();
        }
    }

    @Benchmark
    public double parseFloat() {
        return Double.parseDouble("1.5") + Double.parseDouble("6.02214076e23") + Double.parseDouble("3.14159265");
    }

    @Benchmark
    public long parseInteger() {
        long sum = 0;
        for (String text : integers) {
            sum += Long.parseLong(text);
        }
        return sum;
    }
}
