import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'

/** The icon and the colours of the inspector, for /docs. */

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3b5bdb"/><path d="M4 11V8.5M8 11V5M12 11V7" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>'

const styles = `
:root {
  --bg: light-dark(#f7f7f5, #0e0f11);
  --panel: light-dark(#ffffff, #16171a);
  --line: light-dark(#e4e4df, #26282d);
  --text: light-dark(#1b1b1e, #e7e7ea);
  --muted: light-dark(#5f6069, #9c9da7);
  --accent: light-dark(#3b5bdb, #7f98ff);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
html:root, html:root body, html:root .swagger-ui { background: var(--bg); color-scheme: inherit; }
html:not(.dark-mode) { color-scheme: light; }
html.dark-mode { color-scheme: dark; }
html .swagger-ui, html .swagger-ui .info .title, html .swagger-ui .opblock-tag, html .swagger-ui .opblock .opblock-summary-description {
  color: var(--text);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
html .swagger-ui .wrapper { max-width: 1100px; padding: 0 16px; }
html .swagger-ui .info { margin: 24px 0 8px; }
html .swagger-ui .info .title { font-size: 24px; }
html .swagger-ui .info .title small, html .swagger-ui .info .title small.version-stamp { background: var(--accent); }
html .swagger-ui .info .link, html .swagger-ui .info a { color: var(--accent); }
html .swagger-ui .scheme-container { background: none; box-shadow: none; padding: 0 0 8px; }
html .swagger-ui .opblock-tag { border-bottom: 1px solid var(--line); font-size: 16px; padding: 8px 0; }
html .swagger-ui .opblock.opblock.opblock { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; box-shadow: none; margin: 0 0 8px; }
html .swagger-ui .opblock.opblock.opblock .opblock-summary { border: 0; padding: 6px 8px; }
html .swagger-ui .opblock.opblock.opblock .opblock-summary-method { background: var(--accent); border-radius: 6px; min-width: 60px; padding: 4px 0; }
html .swagger-ui .opblock.opblock.opblock.opblock-get .opblock-summary-method { background: #17713f; }
html .swagger-ui .opblock .opblock-summary-path, html .swagger-ui .opblock .opblock-summary-path a { color: var(--text); font-family: var(--mono); font-size: 14px; }
html .swagger-ui .opblock .opblock-summary-description { color: var(--muted); font-size: 13px; }
html .swagger-ui .opblock.opblock.opblock .opblock-section-header { background: none; box-shadow: none; }
html .swagger-ui .opblock.opblock.opblock .tab-header .tab-item.active h4 span::after { background: var(--accent); }
html .swagger-ui .btn.authorize { border-color: var(--accent); color: var(--accent); }
html .swagger-ui .btn.authorize svg { fill: var(--accent); }
html .swagger-ui .btn.execute { background: var(--accent); border-color: var(--accent); color: light-dark(#ffffff, #0d1025); }
html .swagger-ui .microlight, html .swagger-ui textarea { font-family: var(--mono); }
@media (max-width: 640px) {
  html .swagger-ui .opblock .opblock-summary-description { display: none; }
}
`

/** Swagger UI has a dark mode, but follows the browser only with this class. A phone needs the viewport. */
const script = `
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
document.head.insertAdjacentHTML('beforeend', '<meta name="viewport" content="width=device-width, initial-scale=1">')
`

export const docsLook: Pick<FastifySwaggerUiOptions, 'theme' | 'logo' | 'uiConfig'> = {
  theme: {
    title: 'reward-gateway API',
    css: [{ filename: 'look.css', content: styles }],
    js: [{ filename: 'look.js', content: script }],
    favicon: [{ filename: 'icon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: icon }],
  },
  uiConfig: {
    // Without the bar for another description's address.
    layout: 'BaseLayout',
    docExpansion: 'list',
    defaultModelRendering: 'example',
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    deepLinking: true,
  },
}
