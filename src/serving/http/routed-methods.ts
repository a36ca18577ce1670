import type { FastifyInstance } from 'fastify'

/** Which methods a path knows, in the order of their routes; none: no such path. Counts the routes added after the call. */
export function routedMethods(app: FastifyInstance): (path: string) => string[] {
  const routes: { readonly parts: readonly string[]; readonly methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ parts: url.split('/'), methods: [method].flat() })
  })
  return (path) => {
    const parts = path.split('/')
    return [...new Set(routes.filter((route) => fits(route.parts, parts)).flatMap(({ methods }) => methods))]
  }
}

const fits = (route: readonly string[], path: readonly string[]): boolean =>
  (route.length === path.length || (route.at(-1) === '*' && route.length <= path.length)) &&
  route.every((part, at) => part === '*' || (part.startsWith(':') ? path[at] !== '' : part === path[at]))
