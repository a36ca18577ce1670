import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** null: the request never came to a route, not even to the one for what is not found. */
    routeConfig: RouteConfig | null
  }
}

/** What a route says of itself, with its pattern; without one, nothing was found. */
type RouteConfig = FastifyContextConfig & { readonly url?: string }

/** Asks for the config of each request's route once: `routeOptions` is made anew, a dozen members, for whoever looks at it. */
export function knowRoutes(app: FastifyInstance): void {
  app.decorateRequest('routeConfig', null)
  app.addHook('onRequest', (request, _reply, done) => {
    request.routeConfig = request.routeOptions.config
    done()
  })
}

/** The pattern of a request's route; '' where nothing was found. */
export const patternOf = ({ routeConfig }: FastifyRequest): string => routeConfig?.url ?? ''
