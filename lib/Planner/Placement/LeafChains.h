// An order between units that only need memory, which makes few ideals of many.
#ifndef HETHUB_LIB_PLANNER_PLACEMENT_LEAFCHAINS_H
#define HETHUB_LIB_PLANNER_PLACEMENT_LEAFCHAINS_H

#include "../Units.h"

namespace hethub::planner {

struct LeafChains {
  Units restricted; ///< Its placements are placements of the units.
  Units relaxed;    ///< No placement of the units is better than its best.
  bool any = false; ///< Else both are the units themselves.
};

LeafChains chainLeaves(const Units &units);

} // namespace hethub::planner

#endif
