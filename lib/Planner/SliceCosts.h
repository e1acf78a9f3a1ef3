// Costs of slices [begin, end) of the nodes' order, each in constant or
// logarithmic time.
//
// A value with uses u1 < u2 < ... after its producer u0 is received by as many
// stages as there are neighbouring uses (u_k, u_k+1) with a cut between them.
// So what a slice receives depends on the next use of each value that is live
// at its begin, which makes it a step function of the slice's end: the segments
// below.
#ifndef HETHUB_LIB_PLANNER_SLICECOSTS_H
#define HETHUB_LIB_PLANNER_SLICECOSTS_H

#include "StageCosts.h"

namespace hethub::planner {

/// A value that is made before a position and used at or after it.
struct LiveTensor {
  unsigned tensor;
  unsigned producer;
  unsigned nextUse;
  unsigned lastUse;
};

/// Ends of slices from `begin` (inclusive) up to the begin of the next segment,
/// for which the tables below are constant.
struct Segment {
  unsigned begin;
  bool relaxed;  ///< Some entry of `correction` is not 0.
  double bytes;  ///< of the values from before that such a slice reads
  size_t offset; ///< of its tables
};

/// How the devices of a stage compute.
struct StageKind {
  unsigned type;
  unsigned width; ///< tensor-parallel
  bool recompute;
};

/// A kind with a number of replicas: what a stage can be.
struct Choice {
  unsigned kind;
  unsigned replicas;
  unsigned type, devices; ///< of its kind
};

/// A contiguous plan: stage k is [ends[k-1], ends[k]) as choices[k].
struct Slices {
  std::vector<unsigned> ends;
  std::vector<Choice> choices;
};

class SliceCosts {
public:
  SliceCosts(const Graph &graph, const cluster::Cluster &cluster,
             const Options &options);

  const Graph &graph;
  const Options &options;
  unsigned nodeCount;
  unsigned typeCount;
  double messageFactor;               ///< 2 in training: values and gradients.
  std::vector<unsigned> deviceCounts; ///< Per type, as many as can be of use.
  std::vector<double> memoryLimits;   ///< Per type; infinity: none.
  bool tracksInFlight = false; ///< The microbatches in flight decide what fits.
  bool anyCorrection = false;

  std::vector<StageKind> kinds;
  /// work[k][i]: seconds that a microbatch takes on its way through the nodes
  /// before i on kind k (those that cannot run there count 0, see
  /// `firstUnsupported`).
  std::vector<std::vector<double>> work;
  /// late[k][i]: the same of what the schedule puts off.
  std::vector<std::vector<double>> late;
  /// firstUnsupported[t][i]: first node at or after i that cannot run on type
  /// t; nodeCount if none.
  std::vector<std::vector<unsigned>> firstUnsupported;
  std::vector<char> cutAllowed;    ///< [0 .. nodeCount]
  std::vector<char> scopeBoundary; ///< the scope changes at this cut

  /// All of `kinds` with all replicas that `deviceCounts` allow. A number of
  /// replicas that leaves the busiest one as many microbatches as a smaller
  /// number does is there only where memory may need it.
  std::vector<Choice> choices() const;

  /// Most replicas of a stage on this type that are of use.
  unsigned replicaLimit(unsigned type) const { return replicaLimits[type]; }
  /// What each microbatch takes of a replica.
  double load(unsigned kind, unsigned begin, unsigned end) const {
    return fill(kind, begin, end) + putOff(kind, begin, end);
  }
  /// Of that, what later and earlier stages wait for.
  double fill(unsigned kind, unsigned begin, unsigned end) const {
    return work[kind][end] - work[kind][begin];
  }
  double putOff(unsigned kind, unsigned begin, unsigned end) const {
    return late[kind][end] - late[kind][begin];
  }
  /// Seconds that the first of its replicas is busy beside its first
  /// microbatch's `fill`.
  double steady(const Choice &choice, unsigned begin, unsigned end) const;
  /// Bytes that one device needs for the slice with `inFlight` microbatches
  /// alive on each replica.
  double memory(unsigned kind, unsigned begin, unsigned end,
                unsigned inFlight) const;
  /// Largest number of microbatches in flight on a replica with which the slice
  /// fits; 0: it does not fit.
  unsigned maxInFlight(unsigned kind, unsigned begin, unsigned end) const;
  /// Microbatches in flight on a replica of a stage with `ahead` in flight
  /// behind it and on their way.
  unsigned onReplica(const Choice &choice, unsigned ahead) const {
    auto turns = [&](unsigned count) {
      return (count + choice.replicas - 1) / choice.replicas;
    };
    const unsigned all = turns(options.microbatches);
    if (options.training && options.schedule == simulator::ScheduleKind::GPipe)
      return all;
    return std::min(1 + turns(ahead), all);
  }

  double price(unsigned tensor, unsigned from, unsigned to) const {
    return prices[(size_t(tensor) * typeCount + from) * typeCount + to];
  }
  double cheapestPrice(unsigned tensor, unsigned to) const {
    return cheapest[size_t(tensor) * typeCount + to];
  }

  llvm::ArrayRef<LiveTensor> liveAt(unsigned cut) const {
    return llvm::ArrayRef(live).slice(liveBegin[cut],
                                      liveBegin[cut + 1] - liveBegin[cut]);
  }
  llvm::ArrayRef<Segment> segmentsOf(unsigned begin) const {
    return llvm::ArrayRef(segments).slice(
        segmentBegin[begin], segmentBegin[begin + 1] - segmentBegin[begin]);
  }
  /// Bytes of all values that the slice reads from stages before it.
  double inputBytes(unsigned begin, unsigned end) const;
  /// Seconds of messages into a slice of type `to` behind a slice of type
  /// `from`, all reckoned as coming from there.
  double received(const Segment &segment, unsigned from, unsigned to) const {
    return tables[segment.offset + from * typeCount + to];
  }
  /// At least the seconds by which `received` of the *next* slice (type `to`)
  /// is too high for values that this slice (type `from`) has only passed over:
  /// never positive.
  double correction(const Segment &segment, unsigned from, unsigned to) const {
    return tables[segment.offset + (typeCount + from) * typeCount + to];
  }
  /// A lower bound of `received` whatever the types of earlier stages are,
  /// given that of the stage just before.
  double surelyReceived(const Segment &segment, unsigned from,
                        unsigned to) const {
    return tables[segment.offset + (2 * typeCount + from) * typeCount + to];
  }

  /// `received` for a slice up to `end`.
  double receivedBy(unsigned from, unsigned to, unsigned begin,
                    unsigned end) const;

  /// Smallest sum of work over all assignments.
  double leastWork() const;
  /// What `costPlan` says of the plan: its step time, and in-flight
  /// microbatches on a replica of each stage; infinity where a stage does not
  /// fit in memory.
  double stepSeconds(const Slices &slices,
                     std::vector<unsigned> &onReplica) const;

private:
  const Segment *segmentOf(unsigned begin, unsigned end) const;
  /// Prefix sums for one width: bytes of one device.
  struct Bytes {
    std::vector<double> parameters, frozen, activations;
    std::vector<std::vector<int64_t>> workspace; // sparse table of maxima
    std::vector<double> shared;                  // of each shared parameter
  };
  void buildKinds(const cluster::Cluster &cluster);
  void buildWork(const cluster::Cluster &cluster);
  void buildPrices(const cluster::Cluster &cluster);
  void buildLive();
  void buildSegments();
  void forbidCuts();
  /// Of all parameters, of those that are trained.
  std::pair<double, double> parametersOf(const Bytes &bytes, unsigned begin,
                                         unsigned end) const;

  std::vector<double> prices, cheapest;
  std::vector<LiveTensor> live;
  std::vector<size_t> liveBegin;
  std::vector<Segment> segments;
  std::vector<size_t> segmentBegin;
  std::vector<double> tables;
  std::vector<Bytes> bytesOfWidth; // by log2 of the width
  /// Of each shared parameter, by position: its first user there or later,
  /// `nodeCount` if none. Looked up for each slice that is costed.
  std::vector<std::vector<unsigned>> nextUser;
  std::vector<SumLink> sumLinks;        // by type
  std::vector<unsigned> replicaLimits;  // by type
  std::vector<double> optimizerPerByte; // by type
};

} // namespace hethub::planner

#endif
