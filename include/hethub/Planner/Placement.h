// Placement of a graph's nodes on devices, with a proof of how good it is:
// every node gets one device, and either the busiest device (throughput of a
// pipeline) or the finish of one sample (latency) is minimised.
//
// A tensor costs its transfer once on every device that it enters or leaves:
// the sender pays once however many receivers there are, each receiver once
// however many consumers it holds. Compute and transfer are added.
#ifndef HETHUB_PLANNER_PLACEMENT_H
#define HETHUB_PLANNER_PLACEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hethub::planner {

/// Devices of one kind.
struct DeviceClass {
  std::string name; ///< Device i of the class is called <name><i>.
  unsigned count = 0;
  double memoryBytes = std::numeric_limits<double>::infinity(); ///< Of one.
  double transferScale = 1; ///< Its devices pay this times a tensor's transfer
                            ///< seconds; 0: the data is where it is needed.
  /// Latency only: its devices form one pool in which a node starts when its
  /// inputs are there. Otherwise each device runs its nodes as one call.
  bool pooled = false;
};

struct PlacementNode {
  std::string name;            ///< In messages and assignments; unique.
  std::vector<double> seconds; ///< Per class; infinity: cannot run there.
  double memoryBytes = 0;
  double transferSeconds = 0;      ///< Of its output across a device's border.
  std::vector<unsigned> consumers; ///< Nodes that read its output.
  int color = -1; ///< Nodes of one colour (>= 0) share a device.
  bool backward = false;
};

struct PlacementProblem {
  std::vector<DeviceClass> classes;
  std::vector<PlacementNode> nodes;
};

enum class PlacementMode {
  Contiguous, ///< Devices can be put in an order that no forward edge goes
              ///< against; backward nodes follow their colour.
  Free        ///< Any assignment.
};

enum class PlacementObjective {
  Throughput, ///< Load of the busiest device.
  Latency     ///< Finish of one sample; forward nodes only.
};

struct PlacementOptions {
  PlacementMode mode = PlacementMode::Contiguous;
  PlacementObjective objective = PlacementObjective::Throughput;
  double timeLimitSeconds = std::numeric_limits<double>::infinity();
  unsigned seed = 0;
  /// Above this many ideals the contiguous problem is solved on slices of
  /// topological orders instead of exactly.
  unsigned idealLimit = 200000;
};

struct Device {
  unsigned deviceClass = 0, index = 0;
  bool operator==(const Device &other) const {
    return deviceClass == other.deviceClass && index == other.index;
  }
  bool operator<(const Device &other) const {
    return deviceClass != other.deviceClass ? deviceClass < other.deviceClass
                                            : index < other.index;
  }
};

struct Placement {
  enum class Status {
    Found,
    Infeasible, ///< Proven: no placement keeps the rules.
    NotFound    ///< None found within the limits; there may be one.
  };
  Status status = Status::NotFound;
  std::vector<Device> devices; ///< One for each node.
  double objective = std::numeric_limits<double>::infinity();
  double lowerBound = 0; ///< No placement of this mode has a smaller objective.
  std::string reason;    ///< Of Infeasible and NotFound.
  /// Infeasible for want of memory: bytes to add to every limited device so
  /// that some placement fits; none smaller does where `memoryProven`.
  double missingBytes = 0;
  bool memoryProven = false;
  std::vector<std::string> notes; ///< Limits that cut the search short.

  double gap() const { return objective > 0 ? 1 - lowerBound / objective : 0; }
};

/// Refuses costs that are negative or NaN, vectors of wrong length, indices out
/// of range, cycles, edges from backward to forward nodes, no devices. One
/// message, which names the node.
llvm::Error verifyPlacementProblem(const PlacementProblem &problem);

/// Every node behind its producers; nodes on cycles, and what hangs behind
/// them, are left out.
std::vector<unsigned> topologicalOrder(const PlacementProblem &problem);

/// Errors: those of verifyPlacementProblem, and backward nodes in a latency
/// problem. The same options give the same placement unless the time limit
/// ended the search.
llvm::Expected<Placement> findPlacement(const PlacementProblem &problem,
                                        const PlacementOptions &options);

/// What a device does in a placement.
struct DeviceLoad {
  Device device;
  unsigned nodeCount = 0;
  double computeSeconds = 0, transferSeconds = 0, memoryBytes = 0;
  double seconds() const { return computeSeconds + transferSeconds; }
};

/// The devices that hold a node, in their order.
std::vector<DeviceLoad> deviceLoads(const PlacementProblem &problem,
                                    llvm::ArrayRef<Device> devices);

} // namespace hethub::planner

#endif
