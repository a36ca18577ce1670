import { render } from 'preact'
import { App, applyTheme } from './app.tsx'

applyTheme()
const page = document.getElementById('page')
if (page) render(<App />, page)
