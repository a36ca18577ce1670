/**
 * Simulated model servers that stand in for vLLM and SGLang in the demo, tests, benchmarks and chaos runs.
 */

export { readFaults } from './control.ts'
export { allFaultKinds, type FaultKind, faultKinds, type InjectedFault, type Recovery } from './faults.ts'
export { JudgePrompt } from './judge-prompt.ts'
export { Attempts, type Restart, runners, type SimulatedServerOptions } from './options.ts'
export { type Draw, type Policy, type PolicyName, policyNames, type Verdict } from './policies.ts'
export type { ProcessState } from './process.ts'
export { readScript, type ScriptedRun } from './scripted-runs.ts'
export { type SimulatedServer, startSimulatedServer, startSimulatedServers } from './server.ts'
export type { SglangFlags } from './sglang-memory.ts'
export type { ServerStats } from './stats.ts'
