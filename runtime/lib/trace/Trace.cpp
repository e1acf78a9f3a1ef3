// Chrome trace JSON, the format that the simulator writes too.
#include "hethub/runtime/Trace.h"
#include "io/FileWriter.h"

#include <nlohmann/json.hpp>

using namespace hethub::runtime;

std::string Trace::json() const {
  auto us = [](Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time.time_since_epoch())
        .count();
  };
  static constexpr const char *trackNames[] = {"compute", "send", "receive"};
  nlohmann::json events = nlohmann::json::array();
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", rank_},
                    {"args", {{"name", label_}}}});
  for (int track = 0; track < 3; ++track)
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", rank_},
                      {"tid", track},
                      {"args", {{"name", trackNames[track]}}}});
  for (const Event &event : events_) {
    nlohmann::json common = {{"pid", rank_},
                             {"tid", static_cast<int>(event.track)},
                             {"cat", trackNames[event.track]}};
    nlohmann::json slice = common;
    slice.update({{"ph", "X"},
                  {"name", event.name},
                  {"ts", us(event.begin)},
                  {"dur", us(event.end) - us(event.begin)},
                  {"args", {{"microbatch", event.microbatch}}}});
    if (event.bytes)
      slice["args"]["bytes"] = event.bytes;
    if (event.stage >= 0)
      slice["args"]["stage"] = event.stage;
    events.push_back(std::move(slice));
    if (!event.flow)
      continue;
    // An arrow from the send's beginning to the receive's end.
    bool sends = event.track == Send;
    nlohmann::json flow = common;
    flow.update({{"ph", sends ? "s" : "f"},
                 {"name", event.name},
                 {"cat", "message"},
                 {"id", event.flow},
                 // inside the slice, else the arrow would hang in the air
                 {"ts", sends ? us(event.begin)
                              : us(event.begin) +
                                    0.99 * (us(event.end) - us(event.begin))}});
    if (!sends)
      flow["bp"] = "e";
    events.push_back(std::move(flow));
  }
  return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}
      .dump();
}

void Trace::write(const std::string &path) const { writeFile(path, json()); }
