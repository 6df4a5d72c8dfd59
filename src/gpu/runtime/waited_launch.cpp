// The pool of graphs of waited_launch.h.
#include "gpu/runtime/waited_launch.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "machine/lasting.h"

namespace kith::gpu {

// Neither the kernel nor its clusters can be changed afterwards.
struct WaitedLaunch::Graph {
    int device;
    const void* kernel;
    dim3 cluster;
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaGraphExec_t executable = nullptr;

    ~Graph() {
        if (executable) cudaGraphExecDestroy(executable);
        if (graph) cudaGraphDestroy(graph);
    }
    bool serves(int on, const void* function, const dim3& blocks) const {
        return device == on && kernel == function && cluster.x == blocks.x &&
               cluster.y == blocks.y && cluster.z == blocks.z;
    }
};

namespace {

template <class Graph>
struct Pool {
    std::mutex mutex;
    std::vector<std::unique_ptr<Graph>> idle;
};
template <class Graph>
constinit machine::Lasting<Pool<Graph>> pools;
template <class Graph>
Pool<Graph>& pool() {
    return pools<Graph>.get();
}

dim3 cluster_of(const cudaLaunchConfig_t& config) {
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const auto& size = config.attrs[i].val.clusterDim;
        if (config.attrs[i].id == cudaLaunchAttributeClusterDimension)
            return {size.x, size.y, size.z};
    }
    return {0, 0, 0};
}

}  // namespace

WaitedLaunch::~WaitedLaunch() {
    if (!graph_) return;
    std::unique_ptr<Graph> back(graph_);
    const std::lock_guard lock(pool<Graph>().mutex);
    pool<Graph>().idle.push_back(std::move(back));
}

void WaitedLaunch::launch(const cudaLaunchConfig_t& config, const void* kernel, void** arguments) {
    const int device = current_device();
    const dim3 cluster = cluster_of(config);
    cudaKernelNodeParams node{};
    node.func = const_cast<void*>(kernel);
    node.gridDim = config.gridDim;
    node.blockDim = config.blockDim;
    node.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
    node.kernelParams = arguments;
    {
        auto& idle = pool<Graph>().idle;
        const std::lock_guard lock(pool<Graph>().mutex);
        const auto found = std::find_if(idle.begin(), idle.end(), [&](const auto& g) {
            return g->serves(device, kernel, cluster);
        });
        if (found != idle.end()) {
            graph_ = found->release();
            idle.erase(found);
        }
    }
    if (graph_) {
        check(cudaGraphExecKernelNodeSetParams(graph_->executable, graph_->node, &node),
              "arguments of a graph");
    } else {
        auto made = std::make_unique<Graph>(Graph{device, kernel, cluster});
        check(cudaGraphCreate(&made->graph, 0), "cudaGraphCreate");
        check(cudaGraphAddKernelNode(&made->node, made->graph, nullptr, 0, &node),
              "cudaGraphAddKernelNode");
        if (cluster.x > 0) {
            cudaLaunchAttributeValue size{};
            size.clusterDim = {cluster.x, cluster.y, cluster.z};
            check(cudaGraphKernelNodeSetAttribute(made->node, cudaLaunchAttributeClusterDimension,
                                                  &size),
                  "clusters of a graph");
        }
        check(cudaGraphInstantiate(&made->executable, made->graph, 0), "cudaGraphInstantiate");
        graph_ = made.release();
    }
    check(cudaGraphLaunch(graph_->executable, config.stream), "cudaGraphLaunch");
}

}  // namespace kith::gpu
