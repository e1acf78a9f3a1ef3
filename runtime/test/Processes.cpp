// fork and exec of hh-run with an environment.
#include "Processes.h"

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace hethub::runtime::test {

int freePort() {
  int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  bind(probe, reinterpret_cast<sockaddr *>(&address), sizeof(address));
  getsockname(probe, reinterpret_cast<sockaddr *>(&address), &length);
  close(probe);
  return ntohs(address.sin_port);
}

Processes::~Processes() {
  for (pid_t process : processes_)
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
}

std::string Processes::errorFile(size_t index) const {
  return folder_ + "/stderr" + std::to_string(index);
}

void Processes::start(const std::vector<std::string> &arguments,
                      const std::map<std::string, std::string> &environment) {
  std::string errors = errorFile(processes_.size());
  pid_t child = fork();
  if (child == 0) {
    for (const auto &[name, value] : environment)
      setenv(name.c_str(), value.c_str(), 1);
    int file = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    std::vector<char *> argv{const_cast<char *>(HH_RUN)};
    for (const std::string &argument : arguments)
      argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    execv(HH_RUN, argv.data());
    _exit(127);
  }
  processes_.push_back(child);
}

void Processes::signal(size_t index, int number) {
  kill(processes_[index], number);
}

int Processes::wait(size_t index, double limitS) {
  auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(limitS);
  int status = 0;
  while (waitpid(processes_[index], &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end)
      return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  processes_[index] = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Processes::errors(size_t index) const {
  std::ifstream file(errorFile(index));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> rankEnvironment(int rank, int size,
                                                   int port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

} // namespace hethub::runtime::test
