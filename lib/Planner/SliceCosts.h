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

#include "hethub/Planner/Plan.h"

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
  size_t offset; ///< of its tables
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
  std::vector<unsigned> deviceCounts; ///< Per type, at most one for each node.
  std::vector<double> memoryLimits;   ///< Per type; infinity: none.
  bool tracksInFlight = false; ///< The microbatches in flight decide what fits.
  bool anyCorrection = false;

  /// work[t][i]: seconds of nodes before i on type t (those that cannot run
  /// there count 0, see `firstUnsupported`).
  std::vector<std::vector<double>> work;
  /// firstUnsupported[t][i]: first node at or after i that cannot run on type
  /// t; nodeCount if none.
  std::vector<std::vector<unsigned>> firstUnsupported;
  std::vector<char> cutAllowed;    ///< [0 .. nodeCount]
  std::vector<char> scopeBoundary; ///< the scope changes at this cut

  double load(unsigned type, unsigned begin, unsigned end) const {
    return work[type][end] - work[type][begin];
  }
  /// Bytes that one device needs for the slice with `inFlight` microbatches
  /// alive.
  double memory(unsigned begin, unsigned end, unsigned inFlight) const;
  /// Largest number of microbatches in flight with which the slice fits; 0: it
  /// does not fit.
  unsigned maxInFlight(unsigned type, unsigned begin, unsigned end) const;

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

  /// Smallest sum of work over all assignments.
  double leastWork() const;

private:
  void buildPrices(const cluster::Cluster &cluster);
  void buildLive();
  void buildSegments();
  void forbidCuts();

  std::vector<double> prices, cheapest;
  std::vector<LiveTensor> live;
  std::vector<size_t> liveBegin;
  std::vector<Segment> segments;
  std::vector<size_t> segmentBegin;
  std::vector<double> tables;
  std::vector<double> parameters, activations; // prefix sums
  std::vector<std::vector<int64_t>> workspace; // sparse table of maxima
  std::vector<std::pair<double, std::vector<unsigned>>>
      shared; // bytes, sorted users
};

} // namespace hethub::planner

#endif
