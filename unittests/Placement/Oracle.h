// The rules of placement written a second time, as plainly as they are stated,
// and the best placement by trying all. Shares nothing with the searches.
#ifndef HETHUB_UNITTESTS_PLACEMENT_ORACLE_H
#define HETHUB_UNITTESTS_PLACEMENT_ORACLE_H

#include "hethub/Planner/Placement.h"

#include <optional>

namespace hethub::planner::test {

/// The broken rule of a placement, or an empty text.
std::string brokenRule(const PlacementProblem &problem,
                       const PlacementOptions &options,
                       const std::vector<Device> &devices);

/// Largest load or finish. Infinity: calls that wait for each other.
double objectiveOf(const PlacementProblem &problem,
                   const PlacementOptions &options,
                   const std::vector<Device> &devices);

/// The least objective; infinity when there is no placement.
double bruteForce(const PlacementProblem &problem,
                  const PlacementOptions &options);

/// The least number of bytes, added to all limited devices, with which there is
/// a placement; nothing when no number helps.
std::optional<double> missingBytes(const PlacementProblem &problem,
                                   const PlacementOptions &options);

/// Up to `maxNodes` nodes on up to three classes. Everything that a problem can
/// have occurs, nodes without cost too.
PlacementProblem randomPlacement(unsigned seed, unsigned maxNodes,
                                 unsigned maxDevices, bool training);

} // namespace hethub::planner::test

#endif
