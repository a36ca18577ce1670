/**
 * The docs as a site: `npm run docs` shows it, `npm run docs:build` writes it to docs/.vitepress/dist. Its pages are the files
 * that GitHub shows. A link to a file that is no page leads to the repository; a link to nothing ends the build.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type MarkdownOptions } from 'vitepress'
import { files, pageOf, root, sections } from './pages.ts'

const { version, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** The address of the repository; '' as long as package.json names none. */
const code = String(repository?.url ?? repository ?? '').replace(/^git\+|\.git$/g, '')

/** Where a link of a file leads on the site; null: to a file of a repository that has no address. */
function target(link: string, file: string): string | null {
  if (/^(?:[a-z]+:|#|\/)/i.test(link)) return link
  const [path = '', anchor] = link.split('#')
  const linked = normalize(join(dirname(file), path))
  const suffix = anchor === undefined ? '' : `#${anchor}`
  const page = pageOf(linked)
  if (page !== null) return `/${page}${suffix}`
  if (!existsSync(join(root, linked))) throw new Error(`${file}: ${link} leads nowhere`)
  return code === '' ? null : `${code}/blob/main/${linked}${suffix}`
}

const config: MarkdownOptions['config'] = (md) => {
  md.core.ruler.push('links', ({ tokens, env }) => {
    const file = relative(root, env.realPath ?? env.path)
    for (const { children } of tokens) {
      let isLost = false
      for (const token of children ?? []) {
        const leads = token.type === 'link_open' ? target(token.attrGet('href') ?? '', file) : undefined
        if (leads === null) isLost = true
        else if (leads !== undefined) token.attrSet('href', leads)
        const isEnd = token.type === 'link_close'
        // Its text stays.
        if (isLost && (isEnd || leads === null)) Object.assign(token, { type: 'text', content: '' })
        if (isEnd) isLost = false
      }
    }
  })
  // Vue would evaluate what stands between two braces.
  const { code_inline: span, fence } = md.renderer.rules
  md.renderer.rules.text = (tokens, at) =>
    md.utils.escapeHtml(tokens[at]?.content ?? '').replaceAll('{{', '&#123;&#123;')
  md.renderer.rules.code_inline = (tokens, at, options, env, self) => {
    tokens[at]?.attrSet('v-pre', '')
    return span?.(tokens, at, options, env, self) ?? ''
  }
  // Indented blocks are commands.
  md.renderer.rules.code_block = (tokens, at, options, env, self) => {
    Object.assign(tokens[at] ?? {}, { type: 'fence', tag: 'code', info: 'sh' })
    return fence?.(tokens, at, options, env, self) ?? ''
  }
  md.renderer.rules.fence = (tokens, at, options, env, self) => {
    const token = tokens[at]
    if (token?.info.trim() === 'mermaid') return `<Diagram text="${encodeURIComponent(token.content)}" />`
    return fence?.(tokens, at, options, env, self) ?? ''
  }
}

export default defineConfig({
  title: 'reward-gateway',
  description: 'Serves rewards for RL training of language models. A failure is never a number.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  base: (process.env.DOCS_BASE ?? '/') as `/${string}/`,
  srcDir: '..',
  srcExclude: [
    'README.md',
    '{.*,bench,coverage,dist,docker,rm-configs,src,starter,suites,test,tmp}/**',
    '{docs,clients/python}/{.*,*.egg-info,src,tests}/**',
  ],
  rewrites: Object.fromEntries(files.map((file) => [file, `${pageOf(file)}.md`])),
  // The pages hold no HTML, but texts such as <think>.
  markdown: { html: false, config, languageAlias: { promql: 'sql' } },
  vite: {
    plugins: [
      {
        name: 'pages outside of this folder find its packages',
        enforce: 'pre',
        resolveId(id, importer, options) {
          const isOutside = importer?.endsWith('.md') && /^vue($|\/)/.test(id)
          return isOutside ? this.resolve(id, fileURLToPath(import.meta.url), { ...options, skipSelf: true }) : null
        },
      },
    ],
  },
  themeConfig: {
    nav: [
      { text: 'Troubleshooting', link: '/troubleshooting' },
      {
        text: `v${version}`,
        items: [
          { text: 'Changelog', link: '/changelog' },
          { text: 'What may change in which version', link: '/stability' },
          // A tag holds the pages of its version.
          ...(code === '' ? [] : [{ text: 'Pages of other versions', link: `${code}/tags` }]),
        ],
      },
    ],
    sidebar: sections.map(({ title, pages }, at) => ({
      text: title,
      collapsed: at > 0,
      items: pages.map(({ title, file }) => ({ text: title, link: `/${pageOf(file)}` })),
    })),
    outline: [2, 3],
    search: { provider: 'local' },
    ...(code !== '' && {
      socialLinks: [{ icon: 'github', link: code }],
      editLink: { text: 'Edit this page', pattern: `${code}/edit/main/:path` },
    }),
  },
})
