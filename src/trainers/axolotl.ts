import { nemoGymRoutes } from './nemo-gym.ts'
import type { Wire } from './wire.ts'

/** axolotl's NeMo Gym plug-in: posts `/verify`, waits 30 s, reads `reward` alone and takes any error for 0. */
export const axolotl: Wire = {
  name: 'axolotl',
  deadlineS: 28,
  fixed: { '/seed_session': {} },
  routes: nemoGymRoutes('number', (_body, { reward }) => ({ reward })),
}
