/** The balancer in a process of its own. Arguments: its port and those of the replicas. Ends with its parent. */
import { openBalancer } from './balancer.ts'
import { realTime } from './timeline.ts'

const [port = 0, ...replicas] = process.argv.slice(2).map(Number)
await openBalancer(port, replicas, realTime)
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
