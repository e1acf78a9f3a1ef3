// Loads that follow the moves of units. Moving a unit changes what its old and
// its new device pay, and nobody else: a third device that holds an end of a
// join pays for it before and after.
#include "FreeSearch.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

DeviceTable::DeviceTable(const Units &units)
    : units(units), deviceOf(units.size(), none), span(units.joins.size(), 0) {
  for (unsigned t = 0; t < units.classes.size(); ++t) {
    classOf.insert(classOf.end(), units.classes[t].count, t);
    load.insert(load.end(), units.classes[t].count, units.classes[t].offset);
  }
  memory.assign(size(), 0);
  unitCount.assign(size(), 0);
  endCount.assign(units.joins.size() * size(), 0);
}

void DeviceTable::remove(unsigned unit) {
  const unsigned device = deviceOf[unit];
  deviceOf[unit] = none;
  --unitCount[device];
  load[device] -= units.seconds[classOf[device]][unit];
  memory[device] -= units.memoryBytes[unit];
  for (unsigned join : units.joinsOf[unit]) {
    if (--ends(join, device) > 0)
      continue;
    if (span[join] >= 2)
      load[device] -= pays(device, join);
    if (--span[join] == 1)
      for (unsigned end : units.joins[join].units)
        if (unsigned last = deviceOf[end]; last != none) {
          load[last] -= pays(last, join);
          break;
        }
  }
  if (unitCount[device] == 0) { // no rounding is left behind
    load[device] = units.classes[classOf[device]].offset;
    memory[device] = 0;
  }
}

void DeviceTable::insert(unsigned unit, unsigned device) {
  for (unsigned join : units.joinsOf[unit]) {
    if (ends(join, device)++ > 0)
      continue;
    if (++span[join] == 2)
      for (unsigned end : units.joins[join].units)
        if (unsigned first = deviceOf[end]; first != none) {
          load[first] += pays(first, join);
          break;
        }
    if (span[join] >= 2)
      load[device] += pays(device, join);
  }
  ++unitCount[device];
  load[device] += units.seconds[classOf[device]][unit];
  memory[device] += units.memoryBytes[unit];
  deviceOf[unit] = device;
}

void DeviceTable::move(unsigned unit, unsigned device) {
  if (deviceOf[unit] != none)
    remove(unit);
  if (device != none)
    insert(unit, device);
}

bool DeviceTable::fits(unsigned unit, unsigned device) const {
  return (units.supported[unit] >> classOf[device] & 1) &&
         memory[device] + units.memoryBytes[unit] <=
             units.classes[classOf[device]].memoryBytes;
}

double DeviceTable::largest() const {
  double result = -std::numeric_limits<double>::infinity();
  for (unsigned device = 0; device < size(); ++device)
    if (unitCount[device] > 0)
      result = std::max(result, load[device]);
  return result;
}

} // namespace hethub::planner
