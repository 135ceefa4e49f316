// Benchmarks of numbers and containers. Some have parameters.
package sample;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
public class Numbers {
    private final String given = System.getenv("SAMPLE_WORK");
    private final int work = given == null ? 1000 : Integer.parseInt(given);
    private long dividend = 1;

    // The last of a sequence of pseudo-random numbers.
    static long mixed(int count) {
        long state = 88172645463325252L;
        for (int i = 0; i < count; i++) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
        }
        return state;
    }

    static int[] numbers(int count) {
        int[] all = new int[count];
        for (int i = 0; i < count; i++) {
            all[i] = i * 7919 % 10007;
        }
        return all;
    }

    @Benchmark
    public long changed() {
        return mixed(work);
    }

    // A mode that is not a time of one operation.
    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.SECONDS)
    public long divide() {
        dividend++;
        long sum = 0;
        for (int divisor = 1; divisor < 100; divisor++) {
            sum += dividend / divisor;
        }
        return sum;
    }

    @State(Scope.Benchmark)
    public static class Keys {
        @Param({"200", "1000"})
        int size;

        @Param({"rising", "mixed up (a.b)"})
        String order;

        int[] all;

        @Setup
        public void setUp() {
            all = numbers(size);
            if (order.equals("rising")) {
                Arrays.sort(all);
            }
        }
    }

    @Benchmark
    public int[] sort(Keys keys) {
        int[] work = keys.all.clone();
        Arrays.sort(work);
        return work;
    }

    private final int[] keys = numbers(500);

    private static Map<Integer, Integer> count(int[] keys, Map<Integer, Integer> counts) {
        for (int key : keys) {
            counts.merge(key, 1, Integer::sum);
        }
        return counts;
    }

    @Benchmark
    public Map<Integer, Integer> countInHashMap() {
        return count(keys, new HashMap<>());
    }

    @Benchmark
    public Map<Integer, Integer> countInTreeMap() {
        return count(keys, new TreeMap<>());
    }

    @Benchmark
    public List<Integer> allocate() {
        List<Integer> all = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            all.add(i + 1000);
        }
        return all;
    }

    @Benchmark
    public void matrix(Blackhole blackhole) {
        final int size = 24;
        double[][] one = new double[size][size];
        double[][] product = new double[size][size];
        for (int i = 0; i < size; i++) {
            Arrays.fill(one[i], i);
        }
        for (int i = 0; i < size; i++) {
            for (int j = 0; j < size; j++) {
                for (int k = 0; k < size; k++) {
                    product[i][j] += one[i][k] * one[k][j];
                }
            }
        }
        blackhole.consume(product);
    }

    @Benchmark
    public int sieve() {
        BitSet composite = new BitSet(5000);
        for (int number = 2; number * number < 5000; number++) {
            for (int multiple = number * number; multiple < 5000; multiple += number) {
                composite.set(multiple);
            }
        }
        return composite.cardinality();
    }
}
