// Empty on purpose: ProcessGroupGloo.hpp includes this header of Gloo, which
// the torch wheel does not ship, and uses nothing of it.
#pragma once
