// The machines that a model is planned for: device types with their figures,
// and the links between them.
//
// Figures are SI: bytes, bytes/s, seconds, FLOP/s. docs/Cluster.md describes
// the file format and the defaults.
#ifndef HETHUB_CLUSTER_CLUSTER_H
#define HETHUB_CLUSTER_CLUSTER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hethub::cluster {

/// What the runtime takes on a device beyond the model's operations, in seconds
/// for which it does not compute.
struct RuntimeFigures {
  double microbatch = 0;     ///< Of each compute of a stage: inputs, outputs.
  double send = 0;           ///< Of handing over one message, and
  double sendPerByte = 0;    ///< of each of its bytes.
  double receive = 0;        ///< Of taking one, and
  double receivePerByte = 0; ///< of each of its bytes.
  /// Of the optimizer step for each byte of trained parameters; 0: not known.
  double optimizerPerByte = 0;
  /// Of a sum over ranks of this machine as `simulator::allReduceSeconds` has
  /// it; 0: not known.
  double sumLatency = 0, sumBytesPerSecond = 0;
  int64_t rankBytes = 0;    ///< Of one that only sends and receives.
  int64_t baseBytes = 0;    ///< Of a process that computes nothing.
  int64_t libraryBytes = 0; ///< Of one beside weights and values that runs all
                            ///< kinds of operations of the profile's model.
};

/// A kind of device and how many of it there are. A figure of 0 is not known
/// (yet): see `measureMissingFigures`.
struct DeviceType {
  std::string name;
  std::string accelerator; ///< Entry of the accelerator table, empty where the
                           ///< user described the device.
  std::string
      kind; ///< "cpu", "cuda", "rocm", ...: what the runtime drives it with.
  unsigned count = 1;      ///< Devices in all.
  unsigned nodes = 1;      ///< Machines that they are spread over, evenly.
  int64_t memoryBytes = 0; ///< Of one device.
  /// Peak FLOP/s by dtype ("float32", "float16", "bfloat16", "float64",
  /// "tensorfloat32", "int8").
  std::map<std::string, double> peakFlops;
  double memoryBandwidth = 0; ///< bytes/s
  double launchOverhead = 0;  ///< seconds for each kernel; 0 is a legal figure
  double hostBandwidth = 0;   ///< bytes/s of a copy between device and host
                              ///< memory; 0: the device is the host
  std::string profile; ///< Path of a profile.json; empty: none. Relative ones
                       ///< are looked for beside the cluster file.
  double emulatedSlowdown = 0;   ///< Seconds become this many; 0: not emulated.
  std::string trainingPrecision; ///< "bfloat16": products of a training step
                                 ///< are computed in it; empty: as the model.
  RuntimeFigures runtime;        ///< Of its profile, see `readRuntimeFigures`.

  /// Peak for `dtype`; where it is not stated, that of float32; 0 where neither
  /// is known.
  double peakFor(llvm::StringRef dtype) const;
};

/// One way for messages between two devices, as `hethub profile --links`
/// measured it: copies at its ends are a part of its figures.
struct Route {
  bool viaHost = false;   ///< Else by a library that the devices share.
  int64_t chunkBytes = 0; ///< Of pieces on the way; 0: whole messages.
  double latency = 0;     ///< seconds
  double bandwidth = 0;   ///< bytes/s

  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// How two devices reach each other.
struct Link {
  double bandwidth = 0; ///< bytes/s
  double latency = 0;   ///< seconds
  bool viaHost = false; ///< Messages are copied to host memory, sent, and
                        ///< copied to the device.
  bool routed = false;  ///< The file or a measurement says which way; else the
                        ///< runtime takes a library that both ends share.
  int64_t chunkBytes = 0;    ///< See `Route`.
  std::vector<Route> routes; ///< Measured: each message takes its fastest one.
  std::string profile; ///< Path of the links.json that they come from, while
                       ///< the file is read.
  bool emulated =
      false; ///< The runtime makes messages last as long as the figures say.
  bool stated =
      false; ///< The file says so; false: a default of docs/Cluster.md.
};

class Cluster {
public:
  std::vector<DeviceType> types;

  /// Index of the type of this name.
  std::optional<unsigned> find(llvm::StringRef name) const;
  unsigned deviceCount() const;

  /// The link between a device of type `a` and another one of type `b` (may be
  /// the same type). Symmetric.
  Link link(unsigned a, unsigned b) const;
  void setLink(unsigned a, unsigned b, Link link);
  /// The same as messages of this size find it: by the fastest of the measured
  /// routes, where there are any.
  Link linkFor(unsigned a, unsigned b, int64_t bytes) const;

  /// Seconds from a message's start to its end: latency + bytes / bandwidth of
  /// the fastest measured route; where none was measured, of the link, and the
  /// copies between device and host memory at both ends if it goes via host.
  double transferSeconds(unsigned from, unsigned to, int64_t bytes) const;

  bool emulated() const; ///< Any device or link is.

private:
  std::map<std::pair<unsigned, unsigned>, Link> links;
};

/// Reads a cluster file. An error is one line "FILE:LINE: what: rule, got:
/// value".
llvm::Expected<Cluster> parseCluster(llvm::StringRef text,
                                     llvm::StringRef fileName);
llvm::Expected<Cluster> readCluster(llvm::StringRef path);

/// Takes what `hethub profile --runtime` measured from the profiles that the
/// types name: figures of the runtime, and the link between processes of this
/// machine where the cluster file states none. A profile without them changes
/// nothing; one that is malformed is an error "FILE: rule, got: value".
llvm::Error readRuntimeFigures(Cluster &cluster);

/// Takes the routes of links that name a `profile` from what `hethub profile
/// --links` wrote. An error is one line "FILE: rule, got: value".
llvm::Error readLinkProfiles(Cluster &cluster);

/// `count` equal devices of this machine: one type "cpu", which share its
/// memory.
Cluster equalDevices(unsigned count);

/// Measures on this machine what `cpu` types left out (memory, bandwidth,
/// FLOP/s of one core). Costs about 0.1 s the first time.
void measureMissingFigures(Cluster &cluster);

} // namespace hethub::cluster

#endif
