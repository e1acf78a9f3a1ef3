// Measured links: each message takes its fastest route, and one message for
// each way in which the file is wrong.
#include "hethub/Cluster/Cluster.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hethub::cluster;

namespace {

/// Writes links.json beside a cluster file of two CPUs and a GPU and reads
/// that.
class LinkProfiles : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("links", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string write(llvm::StringRef name, llvm::StringRef text) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
    EXPECT_FALSE(error);
    return path.str().str();
  }
  llvm::Expected<Cluster> read(llvm::StringRef links) {
    return readCluster(write("cluster.yaml", R"(devices:
  - {name: a, kind: cpu, count: 2}
  - {name: b, kind: cpu}
  - {name: gpu, accelerator: A100-80GB, count: 2}
links:
)" + links.str()));
  }
  std::string refusal(llvm::StringRef file,
                      llvm::StringRef links =
                          "  - {between: [a, gpu], profile: links.json}\n") {
    write("links.json", file);
    llvm::Expected<Cluster> cluster = read(links);
    if (cluster)
      return "accepted";
    std::string message = llvm::toString(cluster.takeError());
    llvm::StringRef text = message;
    text.consume_front(folder);
    return text.drop_front().str();
  }

  llvm::SmallString<128> folder;
};

constexpr llvm::StringRef measured = R"({"machine": "m", "links": [
  {"kinds": ["cpu", "cpu"], "routes": [
    {"via": "direct", "latency_s": 1e-4, "bytes_per_s": 1e9}]},
  {"kinds": ["cuda", "cpu"], "routes": [
    {"via": "host", "chunk_bytes": 262144, "latency_s": 1e-5, "bytes_per_s": 1e9},
    {"via": "host", "chunk_bytes": 4194304, "latency_s": 2e-4, "bytes_per_s": 5e9}]},
  {"kinds": ["cuda", "cuda"], "routes": [
    {"via": "host", "chunk_bytes": 262144, "latency_s": 1e-5, "bytes_per_s": 2e9},
    {"via": "direct", "latency_s": 3e-5, "bytes_per_s": 1e11}]}]})";

TEST_F(LinkProfiles, EachMessageTakesItsFastestRoute) {
  write("links.json", measured);
  llvm::Expected<Cluster> cluster = read(R"(
  - {between: [a, gpu], profile: links.json}
  - {within: a, profile: links.json}
  - {within: gpu, profile: links.json, via: host}
)");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  // The link itself is what large messages find.
  Link link = cluster->link(0, 2);
  EXPECT_TRUE(link.routed && link.stated && link.viaHost);
  EXPECT_EQ(link.chunkBytes, 4194304);
  EXPECT_DOUBLE_EQ(link.bandwidth, 5e9);
  EXPECT_DOUBLE_EQ(link.latency, 2e-4);
  // 1e-5 + x / 1e9 = 2e-4 + x / 5e9 at x = 237500; copies are not added.
  EXPECT_EQ(cluster->linkFor(2, 0, 237000).chunkBytes, 262144);
  EXPECT_EQ(cluster->linkFor(0, 2, 238000).chunkBytes, 4194304);
  EXPECT_DOUBLE_EQ(cluster->transferSeconds(0, 2, 100000), 1e-5 + 1e-4);
  EXPECT_DOUBLE_EQ(cluster->transferSeconds(2, 0, 1000000), 2e-4 + 2e-4);
  EXPECT_DOUBLE_EQ(cluster->transferSeconds(0, 0, 0), 1e-4);
  // `via` leaves out the other routes, faster or not.
  EXPECT_DOUBLE_EQ(cluster->link(2, 2).bandwidth, 2e9);
  EXPECT_EQ(cluster->link(2, 2).routes.size(), 1u);
  // Links that name no profile are what they were.
  EXPECT_DOUBLE_EQ(cluster->link(0, 1).bandwidth, 2e9);
  EXPECT_FALSE(cluster->link(1, 2).routed);
}

TEST_F(LinkProfiles, EachMistakeHasItsMessage) {
  auto one = [](llvm::StringRef routes) {
    return R"({"links": [{"kinds": ["cpu", "cuda"], "routes": )" +
           routes.str() + "}]}";
  };
  EXPECT_EQ(refusal(""), "links.json: measured links must be JSON: [1:0, "
                         "byte=0]: Unexpected EOF");
  EXPECT_EQ(refusal("[]"), "links.json: measured links must be an object with "
                           "a list 'links' (hethub profile --links)");
  EXPECT_EQ(refusal(R"({"links": [{"kinds": ["cpu"]}]})"),
            "links.json: a link must have the 'kinds' of its two ends, got: "
            R"({"kinds":["cpu"]})");
  EXPECT_EQ(refusal(R"({"links": []})"),
            "links.json: there must be routes between cpu and cuda, got none");
  EXPECT_EQ(
      refusal(R"({"links": [{"kinds": ["cuda", "cpu"], "skipped": "why"}]})"),
      "links.json: there must be routes between cpu and cuda, got none: why");
  EXPECT_EQ(refusal(one("{}")),
            "links.json: 'routes' of a link must be a list, got: {}");
  EXPECT_EQ(refusal(one("[3]")),
            "links.json: a route must be an object, got: 3");
  EXPECT_EQ(refusal(one(R"([{"via": "air"}])")),
            "links.json: 'via' of a route must be host or direct, got: "
            "\"air\"");
  EXPECT_EQ(refusal(one(R"([{"via": "host", "latency_s": -1}])")),
            "links.json: 'latency_s' of a route must be a number of at least "
            "0, got: -1");
  EXPECT_EQ(
      refusal(one(R"([{"via": "host", "latency_s": 0, "bytes_per_s": 0}])")),
      "links.json: 'bytes_per_s' of a route must be a number greater than 0, "
      "got: 0");
  EXPECT_EQ(
      refusal(one(R"([{"via": "host", "chunk_bytes": 1.5, "latency_s": 0}])")),
      "links.json: 'chunk_bytes' of a route must be a whole number, got: 1.5");
  EXPECT_EQ(
      refusal(measured,
              "  - {between: [a, gpu], profile: links.json, via: direct}"),
      "links.json: there must be routes between cpu and cuda via "
      "direct, got: host only");
  EXPECT_EQ(refusal(measured, "  - {between: [a, gpu], profile: no.json}"),
            "no.json: cannot read the links: No such file or directory "
            "(hethub profile --links writes them)");
  EXPECT_EQ(
      refusal(measured, "  - {within: a, profile: links.json, latency: 1 us}"),
      "cluster.yaml:6: link within 'a': latency must be stated once, got: also "
      "by profile");
  EXPECT_EQ(refusal(measured, "  - {within: a, profile: links.json, emulate: "
                              "{bandwidth: 1}}"),
            "cluster.yaml:6: link within 'a': emulate must be true or false "
            "beside profile, got: a mapping");
}

} // namespace
