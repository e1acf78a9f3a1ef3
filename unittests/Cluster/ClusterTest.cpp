// Cluster files: figures and units, defaults, and one message for each way of
// being wrong.
#include "hethub/Cluster/Cluster.h"
#include "hethub/Cluster/Accelerators.h"
#include "hethub/Cluster/MeasureHost.h"

#include <gtest/gtest.h>

using namespace hethub::cluster;

namespace {

Cluster parseGood(llvm::StringRef text) {
  llvm::Expected<Cluster> cluster = parseCluster(text, "c.yaml");
  if (!cluster) {
    ADD_FAILURE() << llvm::toString(cluster.takeError());
    return {};
  }
  return *cluster;
}

std::string messageOf(llvm::StringRef text) {
  llvm::Expected<Cluster> cluster = parseCluster(text, "c.yaml");
  if (cluster)
    return "accepted";
  return llvm::toString(cluster.takeError());
}

TEST(Cluster, ReadsTheExampleOfTheManual) {
  Cluster cluster = parseGood(R"(devices:
  - {name: old, accelerator: V100-16GB, count: 8, nodes: 2}
  - {name: new, accelerator: A100-80GB, count: 4}
  - {name: host, kind: cpu, count: 1, memory: 8 GiB, profile: host.json, emulate: {slowdown: 2.5}}
links:
  - {between: [old, new], bandwidth: 25 Gbit/s, latency: 30 us, via: host}
  - {within: new, bandwidth: 300 GB/s, latency: 5 us}
)");
  ASSERT_EQ(cluster.types.size(), 3u);
  EXPECT_EQ(cluster.deviceCount(), 13u);
  const DeviceType &old = cluster.types[0], &host = cluster.types[2];
  EXPECT_EQ(old.kind, "cuda");
  EXPECT_EQ(old.nodes, 2u);
  EXPECT_EQ(old.memoryBytes, int64_t(16) << 30);
  EXPECT_DOUBLE_EQ(old.peakFor("float32"), 15.7e12);
  EXPECT_DOUBLE_EQ(old.peakFor("bfloat16"), 15.7e12); // no such units: float32
  EXPECT_DOUBLE_EQ(old.peakFor("float16"), 125e12);
  EXPECT_EQ(host.memoryBytes, int64_t(8) << 30);
  EXPECT_EQ(host.profile, "host.json");
  EXPECT_DOUBLE_EQ(host.emulatedSlowdown, 2.5);
  EXPECT_TRUE(cluster.emulated());
  EXPECT_EQ(cluster.find("new"), 1u);
  EXPECT_FALSE(cluster.find("newer"));

  Link link = cluster.link(1, 0);
  EXPECT_TRUE(link.viaHost);
  EXPECT_DOUBLE_EQ(link.bandwidth, 25e9 / 8);
  EXPECT_DOUBLE_EQ(link.latency, 30e-6);
  // 1 MB: latency, wire, and a copy at each end (PCIe 3.0 and 4.0)
  EXPECT_DOUBLE_EQ(cluster.transferSeconds(0, 1, 1000000),
                   30e-6 + 1e6 / 3.125e9 + 1e6 / 12.8e9 + 1e6 / 25.6e9);
  EXPECT_FALSE(cluster.link(1, 1).viaHost);
}

TEST(Cluster, LinksThatAreNotStatedHaveDefaults) {
  Cluster cluster = parseGood(R"(devices:
  - {name: gpu, accelerator: A100-40GB, count: 4}
  - {name: far, accelerator: A100-40GB, count: 4, nodes: 2}
  - {name: cpu, kind: cpu, count: 2})");
  EXPECT_DOUBLE_EQ(cluster.link(0, 0).bandwidth, 300e9); // NVLink
  EXPECT_FALSE(cluster.link(0, 0).viaHost);
  EXPECT_DOUBLE_EQ(cluster.link(1, 1).bandwidth,
                   1.25e9); // more than one machine
  EXPECT_TRUE(cluster.link(1, 1).viaHost);
  EXPECT_DOUBLE_EQ(cluster.link(0, 1).bandwidth, 1.25e9);
  EXPECT_DOUBLE_EQ(cluster.link(2, 2).bandwidth, 2e9); // loopback
  EXPECT_FALSE(cluster.link(2, 2).viaHost);
  EXPECT_FALSE(cluster.link(0, 1).stated);
}

TEST(Cluster, Units) {
  auto memory = [](std::string text) {
    Cluster cluster =
        parseGood("devices: [{name: a, kind: cpu, memory: " + text + "}]");
    return cluster.types.empty() ? 0 : cluster.types[0].memoryBytes;
  };
  EXPECT_EQ(memory("1024"), 1024);
  EXPECT_EQ(memory("1.5 KiB"), 1536);
  EXPECT_EQ(memory("2GB"), 2000000000);
  EXPECT_EQ(memory("1e9"), 1000000000);
  EXPECT_EQ(memory("\"3 MB\""), 3000000);
  Cluster cluster = parseGood(
      "devices: [{name: a, kind: cpu, peak: {float32: 1.5 TFLOP/s, int8: "
      "3e12}, "
      "memory_bandwidth: 20 GB/s, launch_overhead: 0}, {name: b, kind: cpu, "
      "peak: 2 GFLOP/s}]\n"
      "links: [{between: [a, b], bandwidth: 800 Mbit/s, latency: 2 ms, "
      "emulate: true},\n"
      "        {within: a, emulate: {bandwidth: 1 MB/s, latency: 1 s}}]");
  EXPECT_DOUBLE_EQ(cluster.types[0].peakFor("int8"), 3e12);
  EXPECT_DOUBLE_EQ(cluster.types[0].launchOverhead, 0);
  EXPECT_DOUBLE_EQ(cluster.types[1].peakFor("float32"), 2e9);
  EXPECT_DOUBLE_EQ(cluster.link(0, 1).bandwidth, 1e8);
  EXPECT_TRUE(cluster.link(0, 1).emulated);
  EXPECT_DOUBLE_EQ(cluster.link(0, 0).bandwidth, 1e6);
  EXPECT_DOUBLE_EQ(cluster.link(0, 0).latency, 1);
}

struct Bad {
  const char *text;
  const char *message;
};

TEST(Cluster, EachMistakeHasItsMessage) {
  const Bad cases[] = {
      {"", "c.yaml:1: a cluster must be a mapping with devices and links, got: "
           "nothing"},
      {"links: []", "c.yaml:1: a cluster must have devices"},
      {"devices: []",
       "c.yaml:1: devices must be a list of at least one device, got: none"},
      {"devices:\n  - {kind: cpu}", "c.yaml:2: a device must have a name"},
      {"devices:\n  - {name: a}",
       "c.yaml:2: device 'a' must have an accelerator or a kind"},
      {"devices:\n  - {name: a, kind: cpu,\n     count: 0}",
       "c.yaml:3: device 'a': count must be a whole number from 1 to 1000000, "
       "got: 0"},
      {"devices: [{name: a, kind: cpu, count: -2}]",
       "c.yaml:1: device 'a': count must be at least 0, got: -2"},
      {"devices: [{name: a, kind: cpu, count: 2, nodes: 3}]",
       "c.yaml:1: device 'a': nodes must be at most count (2), got: 3"},
      {"devices: [{name: a, kind: cpu, memory: -1 GiB}]",
       "c.yaml:1: device 'a': memory must be greater than 0, got: -1 GiB"},
      {"devices: [{name: a, kind: cpu, memory: 8 Gib}]",
       "c.yaml:1: device 'a': memory must be a number, alone or with one of B, "
       "kB, MB, GB, TB, KiB, MiB, GiB, TiB, "
       "got: 8 Gib"},
      {"devices: [{name: a, kind: cpu, memory: nan}]",
       "c.yaml:1: device 'a': memory must be a number, alone or with one of B, "
       "kB, MB, GB, TB, KiB, MiB, GiB, TiB, "
       "got: nan"},
      {"devices: [{name: a, kind: cpu, memry: 1}]",
       "c.yaml:1: device 'a': fields must be among name, accelerator, kind, "
       "count, nodes, memory, peak, "
       "memory_bandwidth, host_bandwidth, launch_overhead, profile, emulate, "
       "training_precision, got: memry"},
      {"devices: [{name: a, kind: cpu, training_precision: float16}]",
       "c.yaml:1: device 'a': training_precision must be float32 or bfloat16, "
       "got: float16"},
      {"devices: [{name: a, accelerator: V100}]",
       "c.yaml:1: device 'a': accelerator must be a known one, got: V100 "
       "(did you mean 'V100-16GB'?)"},
      {"devices: [{name: a, accelerator: B200}]",
       "c.yaml:1: device 'a': accelerator must be a known one, got: B200 "
       "(known: 'A100-40GB', 'A100-80GB', "
       "'H100-80GB', 'V100-16GB', 'T4', 'L4', 'MI250X', 'MI300X', 'Gaudi2', "
       "'Ascend-910B')"},
      {"devices: [{name: a, accelerator: T4, kind: rocm}]",
       "c.yaml:1: device 'a': kind must be cuda, which accelerator T4 is, got: "
       "rocm"},
      {"devices: [{name: a, kind: gpu}]",
       "c.yaml:1: device 'a': kind must be among cpu, cuda, rocm, xpu, hpu, "
       "npu, mps, got: gpu"},
      {"devices: [{name: a, kind: cuda, memory: 8 GiB, memory_bandwidth: 1 "
       "TB/s}]",
       "c.yaml:1: device 'a': peak must be stated for kind cuda without an "
       "accelerator"},
      {"devices: [{name: a, kind: cpu, emulate: {slowdown: 0.5}}]",
       "c.yaml:1: device 'a': emulate.slowdown must be at least 1, got: 0.5"},
      {"devices: [{name: a, kind: cpu, emulate: 2}]",
       "c.yaml:1: device 'a': emulate must be a mapping such as {slowdown: "
       "2.5}, got: 2"},
      {"devices: [{name: a, kind: cpu}, {name: a, kind: cpu}]",
       "c.yaml:1: device names must be unique, got twice: a"},
      {"devices: [{name: a, kind: cpu}]\nlinks:\n  - {between: [a, b], "
       "bandwidth: 1}",
       "c.yaml:3: link: between must name a device (a), got: b"},
      {"devices: [{name: a, kind: cpu}]\nlinks:\n  - {between: [a, a], "
       "bandwidth: 1}",
       "c.yaml:3: link: between must name two different devices (use within: "
       "for one), got: a twice"},
      {"devices: [{name: a, kind: cpu}]\nlinks:\n  - {within: a, bandwidth: 0}",
       "c.yaml:3: link within 'a': bandwidth must be greater than 0, got: 0"},
      {"devices: [{name: a, kind: cpu}]\nlinks:\n  - {within: a, latency: 3 "
       "parsecs}",
       "c.yaml:3: link within 'a': latency must be a number, alone or with one "
       "of s, ms, us, ns, got: 3 parsecs"},
      {"devices: [{name: a, kind: cpu}]\nlinks: [{within: a, via: moon}]",
       "c.yaml:2: link within 'a': via must be host or direct, got: moon"},
      {"devices: [{name: a, kind: cpu}]\nlinks: [{within: a}, {within: a}]",
       "c.yaml:2: link within 'a' must be stated once, got: twice"},
      {"devices: [{name: a, kind: cpu}]\nlinks: [{bandwidth: 1}]",
       "c.yaml:2: a link must have either between: [a, b] or within: a, got: "
       "neither"},
      {"devices: [{name: a, kind: cpu, kind: cpu}]",
       "c.yaml:1: a key must stand once in a mapping, got twice: 'kind'"},
  };
  for (const Bad &bad : cases)
    EXPECT_EQ(messageOf(bad.text), bad.message) << bad.text;
}

TEST(Cluster, TextThatIsNoYamlIsRefusedWithItsLine) {
  for (const char *text :
       {"devices: [", "devices:\n  - {name: a\n", "\"", "a: b: c", "%",
        "- - - &a *a", "{}{}", "devices: [{name: *x}]", "--- a\n--- b\n"}) {
    std::string message = messageOf(text);
    EXPECT_EQ(message.rfind("c.yaml:", 0), 0u) << text << " -> " << message;
  }
}

TEST(Cluster, EqualDevicesShareThisMachine) {
  Cluster cluster = equalDevices(3);
  measureMissingFigures(cluster);
  ASSERT_EQ(cluster.types.size(), 1u);
  EXPECT_EQ(cluster.types[0].count, 3u);
  EXPECT_EQ(cluster.types[0].memoryBytes, hostMemoryBytes() / 3);
  EXPECT_GT(cluster.types[0].memoryBandwidth, 1e8);
  EXPECT_LT(cluster.types[0].memoryBandwidth, 1e13);
  EXPECT_GT(cluster.types[0].peakFor("float32"), 1e8);
  EXPECT_LT(cluster.types[0].peakFor("float32"), 1e13);
  RecordProperty("memory_bandwidth",
                 std::to_string(cluster.types[0].memoryBandwidth));
  RecordProperty("float32_flops",
                 std::to_string(cluster.types[0].peakFor("float32")));
}

TEST(Cluster, AcceleratorsArePositiveAndUnique) {
  for (const Accelerator &accelerator : accelerators()) {
    EXPECT_EQ(findAccelerator(accelerator.name), &accelerator);
    EXPECT_GT(accelerator.memoryGiB, 0);
    EXPECT_GT(accelerator.memoryGBps, 0);
    EXPECT_GT(accelerator.float16Tflops, 0);
  }
}

} // namespace
