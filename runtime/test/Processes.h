// Ranks as real processes.
#pragma once

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace hethub::runtime::test {

struct Result {
  int code = -1;      ///< exit code, or 128 + signal
  std::string errors; ///< what it wrote to stderr
  double seconds = 0; ///< until all processes had ended
};

int freePort();

/// Processes of hh-run that end with the test.
class Processes {
public:
  explicit Processes(const std::string &folder) : folder_(folder) {}
  ~Processes();

  /// Starts hh-run; its stderr goes to a file of the folder.
  void start(const std::vector<std::string> &arguments,
             const std::map<std::string, std::string> &environment);
  void signal(size_t index, int number);
  /// Waits for one process at most `limitS` seconds; -1 if it still runs then.
  int wait(size_t index, double limitS);
  std::string errors(size_t index) const;

private:
  std::string errorFile(size_t index) const;
  std::string folder_;
  std::vector<pid_t> processes_;
};

/// The environment of one rank.
std::map<std::string, std::string> rankEnvironment(int rank, int size,
                                                   int port);

} // namespace hethub::runtime::test
