import { render } from 'preact'
import { App } from './app.tsx'
import { applyTheme } from './theme.ts'

applyTheme()
const page = document.getElementById('page')
if (page) render(<App />, page)
